/** The activities that process many records and send heartbeats with their progress. */
import { activityInfo, Context, log } from "@temporalio/activity";
import { expireDueInShard } from "../src/app/points/expire-due.ts";
import { verifySegment } from "../src/app/points/verify-segment.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import { reconcileReservations } from "../src/app/reservations/reconcile.ts";
import {
  addReports,
  type ExpireShardInput,
  type ExpireShardResult,
  maxReports,
  type ReconcileInput,
  type ReconcileResult,
  type VerifySegmentInput,
  type VerifySegmentResult,
} from "../src/contract.ts";
import { check } from "./checks.ts";

/** A step returns its cursor after this time, so that the duration of an activity is bounded. */
const stepMs = 20_000;

/** The interval of heartbeats, which is shorter than every heartbeat timeout. */
const heartbeatMs = 5_000;

/** Each of these activities may be repeated. */
export function longRunningActivities(deps: Deps) {
  return {
    /** Expires what is due in a shard, for one step. A retry continues from the last heartbeat. */
    async settleShard(input: ExpireShardInput): Promise<ExpireShardResult> {
      const fields = { program: "string", shard: "number", cursor: "string?" };
      const { program: programId, shard } = check(input, fields);
      const start = { settled: 0, vain: 0, failed: 0, failures: [], ...cursorOf(input) };
      return step<ExpireShardResult>(start, addExpired, (cursor, shouldContinue) =>
        expireDueInShard(
          deps,
          { program: programId, shard, ...cursor },
          shouldContinue,
          (userId, err) =>
            log.warn("could not expire what is due in an account", { programId, userId, err }),
        ),
      );
    },

    /** Verifies a segment, for one step. A retry continues from the last heartbeat. */
    async verifySegment(input: VerifySegmentInput): Promise<VerifySegmentResult> {
      const numbers = { segment: "number", segments: "number" };
      const fields = { program: "string", ...numbers, cursor: "string?" };
      const { program: programId, segment, segments } = check(input, fields);
      const counts = { accounts: 0, entries: 0, wrong: 0, reports: [], failed: 0, failures: [] };
      const start = { ...counts, ...cursorOf(input) };
      return step<VerifySegmentResult>(start, addVerified, (cursor, shouldContinue) =>
        verifySegment(
          deps,
          { program: programId, segment, segments, ...cursor },
          shouldContinue,
          (userId, err) => log.warn("an account could not be verified", { programId, userId, err }),
        ),
      );
    },

    /** Starts the runs that overdue reservations, or all pending ones, are missing. */
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
 * Runs one step: starts from the last heartbeat of an earlier attempt, with its counts, and ends
 * when the time is over or the worker shuts down. Heartbeats continue while a page takes long.
 */
async function step<R extends Cursor>(
  start: R,
  add: (total: R, next: R) => R,
  run: (cursor: Cursor, shouldContinue: (progress: R) => boolean) => Promise<R>,
): Promise<R> {
  const context = Context.current();
  const from: R = activityInfo().heartbeatDetails ?? start;
  const limit = performance.now() + stepMs;
  let progress = from;
  const timer = setInterval(() => context.heartbeat(progress), heartbeatMs);
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

const addExpired = (total: ExpireShardResult, next: ExpireShardResult): ExpireShardResult => ({
  settled: total.settled + next.settled,
  vain: total.vain + next.vain,
  failed: total.failed + next.failed,
  failures: [...(total.failures ?? []), ...(next.failures ?? [])].slice(0, maxReports),
  ...cursorOf(next),
});

const addVerified = (
  total: VerifySegmentResult,
  next: VerifySegmentResult,
): VerifySegmentResult => ({ ...addReports(total, next), ...cursorOf(next) });
