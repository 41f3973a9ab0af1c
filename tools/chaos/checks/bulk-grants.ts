/**
 * Checks bulk grants: a granted row is in the ledger once, with its points, not before its approval
 * and its time and not after a cancel; the counts of a run are those of the ledger.
 */
import { finalStates } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import { type BulkOp, type BulkRecord, endingOf } from "../record.ts";
import { allEntries, type Entry, type State, type StoredBulkGrant } from "./state.ts";

/** An entry of a bulk grant, and the user to whom it belongs. */
interface Granted {
  readonly userId: string;
  readonly entry: Entry;
}

/** The problems of the bulk grants. */
export function wrongBulkGrants(
  records: readonly BulkRecord[],
  state: Pick<State, "time" | "ledgers" | "bulkGrants">,
): string[] {
  const granted = Map.groupBy(
    allEntries(state).filter(({ entry }) => entry.event.origin === "b"),
    ({ userId, entry }) => entry.event.eventId.slice(0, -userId.length - 1),
  );
  const known = new Set(records.map(({ id }) => id));
  const unknown = [...granted.keys()].filter((id) => !known.has(id));
  return [
    ...unknown.map((id) => `bulk grant ${id} has granted points, and nobody has sent it`),
    ...records.flatMap((record) => {
      const stored = state.bulkGrants.get(record.id);
      const entries = granted.get(record.id) ?? [];
      const found = stored
        ? [
            ...wrongState(record, stored, state.time),
            ...wrongRows(record, stored, entries),
            ...wrongCounts(stored, entries),
            ...wrongTimes(record, stored, entries),
          ]
        : wrongAbsence(record, entries);
      return found.map((what) => `bulk grant ${record.id} ${what}`);
    }),
  ];
}

/** How the changes of one kind ended; undefined when none was sent. */
const endOf = ({ sent }: BulkRecord, op: BulkOp) => {
  const change = sent.find(({ request }) => request.op === op);
  return change && endingOf(change);
};

function wrongAbsence(record: BulkRecord, entries: readonly Granted[]): string[] {
  return [
    ...(endOf(record, "submit") === "acknowledged" ? ["was acknowledged, and is lost"] : []),
    ...(entries.length > 0 ? [`is not there, and has granted ${entries.length} rows`] : []),
  ];
}

/** Its state follows from what was acknowledged. */
function wrongState(
  record: BulkRecord,
  { state, actions = [] }: StoredBulkGrant,
  now: number,
): string[] {
  const end = (op: BulkOp) => endOf(record, op);
  const accepts = (op: BulkOp) => end(op) !== undefined && end(op) !== "refused";
  const isEarly = state === "APPROVED" && (record.executeTime ?? 0) > now;
  const isOver = finalStates.has(state) || state === "AWAITING_APPROVAL" || isEarly;
  // A cancel of a run that has granted its last row is acknowledged, and the run is done.
  const isCancelled =
    state === "CANCELLED" || (state === "DONE" && actions.some((each) => each.action === "CANCEL"));
  const isApproved = end("approve") === "acknowledged";
  const refusals = record.sent.flatMap(({ attempts }) =>
    attempts.flatMap(({ error }) => (error && !error.retryable ? [error.reason] : [])),
  );
  return [
    ...(end("submit") === "refused" ? ["was refused, and is there"] : []),
    ...(isOver ? [] : [`is still ${state}`]),
    ...(state === "INVALID" || state === "DONE_WITH_FAILURES" ? [`is ${state}`] : []),
    ...(isApproved && state === "AWAITING_APPROVAL" ? ["was approved, and awaits it"] : []),
    ...(end("reject") === "acknowledged" && state !== "REJECTED" ? [`is ${state}`] : []),
    ...(state === "REJECTED" && !accepts("reject") ? ["was rejected by nobody"] : []),
    ...(end("cancel") === "acknowledged" && !isCancelled ? [`was cancelled, and is ${state}`] : []),
    ...(state === "CANCELLED" && !accepts("cancel") ? ["was cancelled by nobody"] : []),
    ...(state === "DONE" && !accepts("approve") ? ["was run, and approved by nobody"] : []),
    ...refusals.filter((reason) => reason !== "WRONG_STATE").map((reason) => `refused ${reason}`),
  ];
}

/** Every row is granted once if it says so, and otherwise never. */
function wrongRows(
  { rows }: BulkRecord,
  { state, rows: stored }: StoredBulkGrant,
  entries: readonly Granted[],
): string[] {
  const byUser = Map.groupBy(entries, ({ userId }) => userId);
  const states = new Map(stored.map((row) => [row.userId, row]));
  const strangers = [...byUser.keys()].filter((userId) => !states.has(userId));
  return [
    ...(stored.length === rows.length ? [] : [`has ${stored.length} of ${rows.length} rows`]),
    ...strangers.map((userId) => `has granted points to ${userId}, who has no row`),
    ...rows.flatMap(({ userId, points }) => {
      const row = states.get(userId);
      const own = byUser.get(userId) ?? [];
      const name = `has a row for ${userId}, which`;
      const numbers = own.map(({ entry }) => entry.number).join(", ");
      return [
        ...(row && row.points !== points ? [`${name} has ${row.points} points`] : []),
        ...(own.length > 1 ? [`${name} was granted ${own.length} times, as ${numbers}`] : []),
        ...(own.some(({ entry }) => entry.points !== points)
          ? [`${name} was granted other points than ${points}`]
          : []),
        ...(row?.state === "GRANTED" && own.length === 0
          ? [`${name} is GRANTED, and has no entry`]
          : []),
        ...(row?.state !== "GRANTED" && own.length > 0
          ? [`${name} is ${row?.state}, and was granted as ${numbers}`]
          : []),
        ...(state === "DONE" && own.length === 0 ? [`${name} was not granted`] : []),
      ];
    }),
  ];
}

/** The counts of the run, which reports show to people. */
function wrongCounts({ result }: StoredBulkGrant, entries: readonly Granted[]): string[] {
  if (result === undefined) return [];
  const points = entries.reduce((sum, { entry }) => sum + entry.points, 0);
  const counted = `${result.grantedCount} rows with ${result.grantedPoints} points`;
  const granted = `${entries.length} rows with ${points} points`;
  return counted === granted ? [] : [`counts ${counted}, and has granted ${granted}`];
}

/** Nothing is granted before it may be, and nothing when it is over. */
function wrongTimes(
  { sent, executeTime = 0 }: BulkRecord,
  { endTime }: StoredBulkGrant,
  entries: readonly Granted[],
): string[] {
  const approvals = sent.filter(({ request }) => request.op === "approve");
  const approved = approvals.flatMap(({ attempts }) => attempts.map(({ time }) => time));
  const first = Math.max(executeTime, Math.min(...approved));
  const early = entries.filter(({ entry }) => entry.createTime < first);
  const late = entries.filter(({ entry }) => entry.createTime > (endTime ?? Number.MAX_VALUE));
  return [
    ...(approved.length === 0 && entries.length > 0
      ? [`has granted ${entries.length} rows without an approval`]
      : early.map(({ userId }) => `has granted the row of ${userId} early`)),
    ...late.map(({ userId }) => `has granted the row of ${userId} after its end`),
  ];
}
