/** Sends the heartbeats of grants, so that Temporal does not take a slow worker for a dead one. */
import { Context } from "@temporalio/activity";
import type { Instant } from "../src/domain/month.ts";
import type { Milliseconds } from "../src/domain/units.ts";
import { grantTiming } from "../workflows/timing.ts";

const { beatMs, crowd, spreadMs } = grantTiming;

interface HeldGrant {
  readonly executeTime: Instant;
  /** How long it is held; negative when it is due already. */
  readonly leftMs: Milliseconds;
}

/**
 * Most grants end before the first heartbeat, which is sent a moment after the execute time, and
 * cost none. When more grants of one second are held than the worker completes at once, each
 * further one sends its first heartbeat at a random moment before, because all of them together
 * would reach Temporal too late.
 */
export function createBeats() {
  const heldBySecond = new Map<number, number>();
  return {
    /** Sends heartbeats until the work, which includes the hold, has ended. */
    async during<T>({ executeTime, leftMs }: HeldGrant, work: () => Promise<T>): Promise<T> {
      const context = Context.current();
      const { heartbeatTimeoutMs } = context.info;
      // An earlier version has scheduled this activity: its timeout ends with the grace.
      if (heartbeatTimeoutMs === undefined) return work();
      const second = Math.floor(executeTime / 1_000);
      const held = heldBySecond.get(second) ?? 0;
      heldBySecond.set(second, held + 1);
      const beat = () => {
        context.heartbeat();
        timer = setTimeout(beat, heartbeatTimeoutMs / 2);
      };
      const firstMs =
        held < crowd
          ? Math.max(0, leftMs) + beatMs
          : Math.max(0, leftMs - Math.random() * spreadMs);
      let timer = setTimeout(beat, firstMs);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        const left = (heldBySecond.get(second) ?? 0) - 1;
        if (left > 0) heldBySecond.set(second, left);
        else heldBySecond.delete(second);
      }
    },
  };
}
