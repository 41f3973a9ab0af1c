/** Sends the heartbeats of grants, so that Temporal does not take a slow worker for a dead one. */
import { Context } from "@temporalio/activity";
import type { Instant } from "../src/domain/month.ts";
import type { Milliseconds } from "../src/domain/units.ts";
import { grantTiming } from "../workflows/timing.ts";

const { beatMs, crowd, slowTimerMs, spreadMs, foundMs, safetyMs } = grantTiming;

interface HeldGrant {
  readonly executeTime: Instant;
  /** How long it is held; negative when it is due already. */
  readonly leftMs: Milliseconds;
}

/**
 * Most grants end before the first heartbeat, which is sent a moment after the execute time, and
 * cost none. Before that time, each grant looks whether it would be too late: because more grants
 * of one second are held than the worker completes at once, or because timers fire late, which
 * shows that this process gets too little CPU time. Then it sends its first heartbeat at once. The
 * timeout that begins with it is as long as the hold, so a grant that is held for long looks early,
 * too: when it sends one then, the death of its worker is found `foundMs` after the execute time.
 */
export function createBeats() {
  const heldBySecond = new Map<number, number>();
  /** The moving mean of how late the looks come. */
  let lateMs: Milliseconds = 0;
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
      const start = performance.now();
      const due = start + Math.max(0, leftMs);
      const spread = Math.random() * spreadMs;
      const lastLook = Math.max(start, due - spread);
      const earlyLook = Math.max(start, due + foundMs - heartbeatTimeoutMs - spread);
      const beat = () => {
        context.heartbeat();
        timer = setTimeout(beat, Math.max(heartbeatTimeoutMs / 2, heartbeatTimeoutMs - safetyMs));
      };
      const look = (at: Milliseconds) => {
        const now = performance.now();
        lateMs += (now - at - lateMs) / 4;
        if (held >= crowd || lateMs > slowTimerMs) beat();
        else if (at < lastLook) timer = setTimeout(look, Math.max(0, lastLook - now), lastLook);
        else timer = setTimeout(beat, Math.max(0, due + beatMs - now));
      };
      const firstLook = Math.min(earlyLook, lastLook);
      let timer = setTimeout(look, firstLook - start, firstLook);
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
