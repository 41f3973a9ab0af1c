/** The activities that walk through many records and tell how far they are. */
import { activityInfo, Context, log } from "@temporalio/activity";
import { expireDueInShard } from "../src/app/points/expire-due.ts";
import { verifySegment } from "../src/app/points/verify-segment.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import { reconcileReservations } from "../src/app/reservations/reconcile.ts";
import {
  type ExpireShardInput,
  type ExpireShardResult,
  maxReports,
  type ReconcileInput,
  type ReconcileResult,
  type VerifySegmentInput,
  type VerifySegmentResult,
} from "../src/contract.ts";
import { check } from "./checks.ts";

/** After this long a step hands back its cursor, so that no activity grows without bound. */
const stepMs = 20_000;

/** Well within every heartbeat timeout. */
const beatMs = 5_000;

export function longRunningActivities(deps: Deps) {
  return {
    /** Settles a shard from its cursor on, for a while; a retry goes on where it was. */
    async settleShard(input: ExpireShardInput): Promise<ExpireShardResult> {
      const fields = { program: "string", shard: "number", cursor: "string?" };
      const { program: programId, shard } = check(input, fields);
      const start = { settled: 0, vain: 0, failed: 0, failures: [], ...cursorOf(input) };
      return step<ExpireShardResult>(start, addSettled, (cursor, more) =>
        expireDueInShard(deps, { program: programId, shard, ...cursor }, more, (userId, error) =>
          log.warn("an account could not be settled", { programId, userId, err: error }),
        ),
      );
    },

    /** Verifies a segment from its cursor on, for a while; a retry goes on where it was. */
    async verifySegment(input: VerifySegmentInput): Promise<VerifySegmentResult> {
      const numbers = { segment: "number", segments: "number" };
      const fields = { program: "string", ...numbers, cursor: "string?" };
      const { program: programId, segment, segments } = check(input, fields);
      const nothing = { accounts: 0, entries: 0, wrong: 0, reports: [], failed: 0, failures: [] };
      const start = { ...nothing, ...cursorOf(input) };
      return step<VerifySegmentResult>(start, addVerified, (cursor, more) =>
        verifySegment(
          deps,
          { program: programId, segment, segments, ...cursor },
          more,
          (userId, error) =>
            log.warn("an account could not be verified", { programId, userId, err: error }),
        ),
      );
    },

    /** Starts runs for what is overdue, or for everything that waits. */
    async reconcileReservations(input: ReconcileInput): Promise<ReconcileResult> {
      check(input, { everything: "boolean" });
      const context = Context.current();
      const started = await reconcileReservations(deps, input, (count) => {
        context.cancellationSignal.throwIfAborted();
        context.heartbeat(count);
      });
      return { started };
    },
  };
}

type Cursor = { readonly cursor?: string };

/**
 * Runs one step: from where the last attempt said it was, with what it had found, and until the
 * time is up or the worker is to stop. Heartbeats go on while a page takes long.
 */
async function step<R extends Cursor>(
  start: R,
  add: (a: R, b: R) => R,
  run: (cursor: Cursor, more: (progress: R) => boolean) => Promise<R>,
): Promise<R> {
  const context = Context.current();
  const from: R = activityInfo().heartbeatDetails ?? start;
  const limit = performance.now() + stepMs;
  let progress = from;
  const timer = setInterval(() => context.heartbeat(progress), beatMs);
  try {
    const result = await run(cursorOf(from), (found) => {
      progress = add(from, found);
      context.heartbeat(progress);
      return performance.now() < limit && !context.cancellationSignal.aborted;
    });
    return add(from, result);
  } finally {
    clearInterval(timer);
  }
}

const cursorOf = ({ cursor }: Cursor): Cursor => (cursor === undefined ? {} : { cursor });

const addSettled = (a: ExpireShardResult, b: ExpireShardResult): ExpireShardResult => ({
  settled: a.settled + b.settled,
  vain: a.vain + b.vain,
  failed: a.failed + b.failed,
  failures: [...(a.failures ?? []), ...(b.failures ?? [])].slice(0, maxReports),
  ...cursorOf(b),
});

const addVerified = (a: VerifySegmentResult, b: VerifySegmentResult): VerifySegmentResult => ({
  accounts: a.accounts + b.accounts,
  entries: a.entries + b.entries,
  wrong: a.wrong + b.wrong,
  reports: [...a.reports, ...b.reports].slice(0, maxReports),
  failed: (a.failed ?? 0) + (b.failed ?? 0),
  failures: [...(a.failures ?? []), ...(b.failures ?? [])].slice(0, maxReports),
  ...cursorOf(b),
});
