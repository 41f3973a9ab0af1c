/** Keeps the schedules as they are wanted, in one process at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import type { PickUpSource } from "../bulk-grants/ports/bulk-grants.ts";
import type { Reader } from "../hub/deps.ts";
import type { Lease } from "../platform/ports/lease.ts";
import { ensureSchedules, SchedulesMissing } from "./schedules.ts";
import type { TemporalWorkflows } from "./temporal-workflows.ts";

/** The check of the schedules, again and again. */
interface EnsuredSchedules {
  /**
   * How many programs and sources lack schedules since the last attempt; 1 when it could not read
   * which there are, or the lease; 0 while another process ensures them.
   */
  notEnsured(): number;
  /** Ends the check, so that another process begins with it. */
  stop(): Promise<void>;
}

/** The pauses before the next attempt, and after which a process hands over and tries again. */
export const ensuringPauses = { failedMs: 5_000, ensuredMs: 3_600_000, handOverMs: 60_000 };

/**
 * Ensures the schedules in one process at a time, the one that holds `lease`: when it takes it,
 * every 5 s until it succeeds, and then every hour. So a server also starts while Temporal or the
 * store is away, and a schedule that was deleted or changed, or was not created together with its
 * program, is right again within an hour. A process that does not reach Temporal for a minute
 * releases the lease for a minute, so that another process takes it, which may reach Temporal.
 */
export function keepEnsuringSchedules(
  workflows: TemporalWorkflows,
  reader: Pick<Reader, "programs" | "get">,
  lease: Lease,
  pickUps: readonly PickUpSource[] = [],
  pauses = ensuringPauses,
): EnsuredSchedules {
  const { log } = workflows.link;
  const stopped = new AbortController();
  let notEnsured = 0;

  const pause = (ms: number, signal: AbortSignal) =>
    sleep(ms, undefined, { signal, ref: false }).catch(() => {});

  /** Returns when the process does not hold the lease any more, or does not reach Temporal. */
  async function ensureWhileHeld(lost: AbortSignal): Promise<void> {
    const until = AbortSignal.any([lost, stopped.signal]);
    let reachedAt = performance.now();
    while (!until.aborted) {
      try {
        await ensureSchedules(workflows, reader, pickUps, until);
        notEnsured = 0;
        await pause(pauses.ensuredMs, until);
        reachedAt = performance.now();
      } catch (error) {
        if (until.aborted) return;
        const areMissing = error instanceof SchedulesMissing;
        notEnsured = areMissing ? error.count : 1;
        log.warn({ err: error }, "schedules could not be ensured; trying again in 5 s");
        if (areMissing) reachedAt = performance.now();
        else if (performance.now() - reachedAt >= pauses.handOverMs) return;
        await pause(pauses.failedMs, until);
      }
    }
  }

  async function run(): Promise<void> {
    for (;;) {
      const lost = await lease.take();
      if (lost === undefined || stopped.signal.aborted) return;
      await ensureWhileHeld(lost);
      if (stopped.signal.aborted) return;
      if (!lost.aborted) {
        await lease.release();
        await pause(pauses.handOverMs, stopped.signal);
      }
    }
  }
  void run();
  return {
    notEnsured() {
      if (lease.isUnanswered()) return Math.max(notEnsured, 1);
      return lease.isElsewhere() ? 0 : notEnsured;
    },
    async stop() {
      stopped.abort();
      await lease.close();
    },
  };
}
