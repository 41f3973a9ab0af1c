/**
 * Checks reservations: an acknowledged one was granted once, not before its time, with the number
 * that its record names, or cancelled; a refused one left nothing.
 */
import {
  type Changes,
  endingOf,
  isOpen,
  type ReservationAnswer,
  type ReservationRecord,
  type ReservationRequest,
} from "../record.ts";
import { allEntries, type Entry, type State, type StoredReservation } from "./state.ts";

/** The entries of a reservation, with the users to whom they belong. */
type Granted = readonly { readonly userId: string; readonly entry: Entry }[];

/** The problems of the reservations. */
export function wrongReservations(
  records: readonly ReservationRecord[],
  state: Pick<State, "time" | "ledgers" | "reservations">,
): string[] {
  const granted = Map.groupBy(
    allEntries(state).filter(({ entry }) => entry.event.origin === "r"),
    ({ entry }) => entry.event.eventId,
  );
  const known = new Set(records.map(({ id }) => id));
  const unknown = [...granted.keys()].filter((id) => !known.has(id));
  return [
    ...unknown.map((id) => `reservation ${id} was granted, and nobody has sent it`),
    ...records.flatMap((record) => {
      const stored = state.reservations.get(record.id);
      const entries = granted.get(record.id) ?? [];
      const found = stored
        ? [
            ...wrongGrant(record, stored, entries, state.time),
            ...wrongEnd(record, stored),
            ...wrongTime(record, stored, entries),
          ]
        : wrongAbsence(record, entries);
      return found.map((what) => `reservation ${record.id} ${what}`);
    }),
  ];
}

const named = <A>(some: readonly A[], what: string): string[] => (some.length > 0 ? [what] : []);

/** The changes of one kind. */
const sentAs = ({ sent }: ReservationRecord, op: ReservationRequest["op"]) =>
  sent.filter(({ request }) => request.op === op);

function wrongAbsence(record: ReservationRecord, entries: Granted): string[] {
  const created = sentAs(record, "create").filter((each) => endingOf(each) === "acknowledged");
  return [
    ...named(created, "was acknowledged, and is lost"),
    ...named(entries, "was granted, and is not there"),
  ];
}

/** The values of the last acknowledged change, and of those whose call may have come later. */
function possible<V>(changes: readonly (Changes & { readonly value: V })[]): V[] {
  const last = changes.findLast((each) => endingOf(each) === "acknowledged");
  const may = changes.filter((each) => each === last || each.attempts.some(isOpen));
  return may.map(({ value }) => value);
}

/** The points that it may have. */
const possiblePoints = ({ points, sent }: ReservationRecord): number[] =>
  possible(
    sent.flatMap(({ request, attempts }) => {
      if (request.op === "create") return [{ attempts, value: points }];
      return request.op === "points" ? [{ attempts, value: request.points }] : [];
    }),
  );

/** Compares the record with the ledger. */
function wrongGrant(
  record: ReservationRecord,
  stored: StoredReservation,
  entries: Granted,
  now: number,
): string[] {
  const { userId, sent } = record;
  const { state, points, grant, executeTime, failure } = stored;
  const numbers = entries.map(({ entry }) => entry.number).join(", ");
  const isSame = (of: Granted[number]) =>
    of.userId === userId && of.entry.points === points && of.entry.number === grant?.entryNumber;
  const isRefused = sent[0] !== undefined && endingOf(sent[0]) === "refused";
  return [
    ...(isRefused ? ["was refused, and is there"] : []),
    ...(stored.userId !== userId || !possiblePoints(record).includes(points)
      ? [`is of ${points} points for ${stored.userId}`]
      : []),
    ...(entries.length > 1 ? [`was granted ${entries.length} times, as entries ${numbers}`] : []),
    ...(state === "DONE" && entries.length === 0 ? ["is DONE, and has no entry"] : []),
    ...(state === "DONE" && entries.length === 1 && !entries.every(isSame)
      ? [`is entry ${grant?.entryNumber} by its record, and ${numbers} by the ledger`]
      : []),
    ...(state !== "DONE" ? named(entries, `is ${state}, and was granted as ${numbers}`) : []),
    ...(state === "FAILED" ? [`has failed: ${failure?.reason}`] : []),
    ...(state === "PENDING" && executeTime <= now ? ["is due, and was never granted"] : []),
  ];
}

/** An acknowledged cancel has cancelled it, a refused one came after its grant. */
function wrongEnd(record: ReservationRecord, { state }: StoredReservation): string[] {
  const cancels = sentAs(record, "cancel");
  const acknowledged = cancels.filter((each) => endingOf(each) === "acknowledged");
  const refusals = record.sent
    .flatMap(({ attempts }) => attempts)
    .flatMap(({ error }) => (error && !error.retryable ? [error] : []));
  const strange = refusals.filter(({ reason }) => reason !== "WRONG_STATE");
  const isOver = state === "DONE" || state === "CANCELLED";
  return [
    ...(state === "CANCELLED" ? [] : named(acknowledged, `was cancelled, and is ${state}`)),
    ...(state === "CANCELLED" && cancels.every((each) => endingOf(each) === "refused")
      ? ["is CANCELLED, and no cancel was accepted"]
      : []),
    ...strange.map(({ reason }) => `was refused as ${reason}`),
    ...(refusals.length > 0 && !isOver ? [`is ${state}, and a change of it was refused`] : []),
  ];
}

/**
 * Its time is that of the last acknowledged change, or of one whose call may have been made later,
 * and it was not granted before.
 */
function wrongTime(
  { sent }: ReservationRecord,
  { executeTime }: StoredReservation,
  entries: Granted,
): string[] {
  const times = possible(
    sent.flatMap(({ request, attempts }) =>
      "executeTime" in request ? [{ attempts, value: request.executeTime }] : [],
    ),
  );
  const early = entries.filter(({ entry }) => entry.createTime < executeTime);
  return [
    ...(times.includes(executeTime)
      ? []
      : [`is due at ${executeTime}, and was moved to ${times.at(-1)}`]),
    ...early.map(({ entry }) => `was granted ${executeTime - entry.createTime} ms early`),
    ...wrongAnswers(sent),
  ];
}

/** An answer has what was requested, unless an open call of another change has come late. */
function wrongAnswers(sent: ReservationRecord["sent"]): string[] {
  const earlier = new Set<string>();
  return sent.flatMap(({ request, attempts }) => {
    const answers = attempts.flatMap(({ answer }) => answer ?? []);
    if (request.op === "cancel") {
      const other = answers.filter(({ state }) => state !== "CANCELLED");
      return other.map(({ state }) => `was cancelled, and was answered ${state}`);
    }
    const textOf = ({ points, executeTime }: Pick<ReservationAnswer, "points" | "executeTime">) =>
      request.op === "points" ? `of ${points} points` : `due at ${executeTime}`;
    const wanted = textOf({ points: 0, executeTime: 0, ...request });
    const bad = answers.map(textOf).filter((text) => text !== wanted && !earlier.has(text));
    if (attempts.some(isOpen)) earlier.add(wanted);
    return bad.map((text) => `was to be ${wanted}, and was answered as ${text}`);
  });
}
