/** Finds workflow runs that are not in line with their records, and corrects them. */

import { markShardCount, type PendingStart, type RecordName } from "../../due/ports/due.ts";
import { endMark } from "../../due/use-cases/marks.ts";
import { holdRef } from "../../holds/ports/records.ts";
import { type Hold, isDue } from "../../holds/rules/hold.ts";
import type { Page } from "../../platform/ports/pages.ts";
import type { Ref } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import { failingSoon } from "../../platform/work/failing-soon.ts";
import { isStoreOutage } from "../../platform/work/unconfirmed-failures.ts";
import type { Deps, RecordRun } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import type { Reservation } from "../rules/reservation.ts";
import { recordPageSize } from "./all-reservations.ts";
import { startMarked, startRun } from "./workflow-runs.ts";

type SyncDeps = Pick<Deps, "engine" | "reader" | "clock" | "programs" | "workflows">;

/** The counts of a check of the runs of reservations and holds. */
interface SyncCounts {
  /** The number of changes that were sent to Temporal again. */
  readonly synced: number;
  /** The number of runs that were started again. */
  readonly restarted: number;
  /** The number of runs that made no progress and were terminated. */
  readonly terminated: number;
  readonly failed: number;
}

/** A mark of this age is of a background task that has failed, or of a process that is gone. */
const lostMs = 10_000;

/** A mark of this age, of which nothing was written, is of a call that has failed. */
const abandonedMs = 300_000;

/** A run whose record has been final for this long makes no progress. */
const stuckMs = 120_000;

/** So long after the release of a hold, a run is started to show it if the last one has failed. */
const shownMs = 600_000;

/**
 * Repeats what may not have reached Temporal, starts runs again that ended since `since` although
 * their reservations are pending or their holds HELD or EXPIRED, and terminates overdue runs that
 * make no progress although their records are final. Its cost follows what went wrong. Returns the
 * counts; a record that fails is left to the next pass. Throws WORKFLOWS_UNAVAILABLE and
 * STORE_UNAVAILABLE.
 */
export async function syncRuns(
  deps: SyncDeps,
  since: Instant,
  onFailed: (name: RecordName, error: unknown) => void,
): Promise<SyncCounts> {
  const counts = { synced: 0, restarted: 0, terminated: 0, failed: 0 };
  const count = async (kind: keyof SyncCounts, name: RecordName, work: () => Promise<boolean>) => {
    try {
      if (await work()) counts[kind] += 1;
    } catch (error) {
      onFailed(name, error);
      counts.failed += 1;
    }
  };
  const { wall } = await deps.clock.now();
  const brief = failingSoon(deps);
  const onUnread = (shard: number, error: unknown) => {
    onFailed({ programId: "(all)", reservationId: `(marks of shard ${shard})` }, error);
    counts.failed += 1;
  };
  for await (const marked of pendingStarts(deps, wall, onUnread)) {
    await count("synced", marked[0], () => startPending(brief, marked, wall));
  }
  for await (const run of deps.workflows.brokenRuns(since)) {
    await count("restarted", run, () => restart(brief, run, wall));
  }
  for await (const run of deps.workflows.overdueRuns(wall - stuckMs)) {
    await count("terminated", run, () => terminateStuck(deps, run, wall));
  }
  return counts;
}

/** A mark, and its record if that was written. */
type Marked = readonly [mark: PendingStart, record: Reservation | Hold | undefined];

/**
 * Reads the marks that are old enough, with their records, the first page of each shard at once. A
 * page that cannot be read is left to the next pass.
 */
async function* pendingStarts(
  { reader }: Pick<Deps, "reader">,
  wall: Instant,
  onUnread: (shard: number, error: unknown) => void,
): AsyncGenerator<Marked, void> {
  async function read(shard: number, after?: string): Promise<Page<Marked>> {
    let rest: { cursor?: string | undefined } = {};
    try {
      const page = { size: recordPageSize, cursor: after };
      const { items, ...others } = await reader.pendingStarts(shard, page);
      rest = others;
      const marks = items.filter(({ time }) => time < wall - lostMs);
      const records = await reader.many(marks.map(refOf));
      return { items: marks.map((mark, i) => [mark, records[i]]), ...rest };
    } catch (error) {
      // Of the outages, throttling alone may concern no other page.
      if (isStoreOutage(error) && error.reason !== "THROTTLED") throw error;
      onUnread(shard, error);
      return { items: [], ...rest };
    }
  }
  const shards = Array.from({ length: markShardCount }, (_, shard) => shard);
  const first = await Promise.all(shards.map((shard) => read(shard)));
  for (const [shard, page] of first.entries()) {
    yield* page.items;
    for (let { cursor } = page; cursor !== undefined; ) {
      const next = await read(shard, cursor);
      yield* next.items;
      ({ cursor } = next);
    }
  }
}

/**
 * Starts the run of a marked record. A reservation that was not written since its mark keeps it for
 * a while, because it may be written yet.
 */
async function startPending(
  deps: SyncDeps,
  [mark, record]: Marked,
  wall: Instant,
): Promise<boolean> {
  if (record) await startMarked(deps, record);
  const isWritten = record && ("holdId" in record || record.updateTime >= mark.time);
  if (isWritten || mark.time < wall - abandonedMs) await endMark(deps, mark);
  return record !== undefined;
}

/**
 * Starts a run again if its reservation is pending or its hold HELD. A hold that is due is released
 * by a sweep; where that is refused, a run would fail again and again. After that release a run
 * shows operators that the hold has timed out, unless such runs keep failing.
 */
async function restart(deps: SyncDeps, run: RecordRun, wall: Instant): Promise<boolean> {
  const record = await readRecord(deps, run);
  if (record === undefined) return false;
  if ("holdId" in record) {
    const isHeld = record.state === "HELD" && !isDue(record, wall);
    const isNews = record.state === "EXPIRED" && record.updateTime > wall - shownMs;
    if (!isHeld && !isNews) return false;
  } else if (record.state !== "PENDING") return false;
  await startRun(deps, record);
  return true;
}

/**
 * Terminates a run that began two minutes ago or earlier, and whose record has been final for as
 * long or does not exist.
 */
async function terminateStuck(deps: SyncDeps, run: RecordRun, wall: Instant): Promise<boolean> {
  const record = await readRecord(deps, run);
  const isFinal = record?.state !== "PENDING" && record?.state !== "HELD";
  const since = Math.max(run.startTime, record?.updateTime ?? 0);
  if (!isFinal || since > wall - stuckMs) return false;
  const what = "holdId" in run ? "hold" : "reservation";
  const state = record ? `is ${record.state}` : "does not exist";
  await deps.workflows.terminateRun(
    run,
    `the ${what} ${state}, and this run has made no progress for two minutes`,
  );
  return true;
}

const refOf = (name: RecordName): Ref<"reservation" | "hold"> =>
  "holdId" in name ? holdRef(name) : reservationRef(name.programId, name.reservationId);

const readRecord = async (
  { reader }: Pick<Deps, "reader">,
  name: RecordName,
): Promise<Reservation | Hold | undefined> => (await reader.get(refOf(name)))?.value;
