/** The holds and extensions of a recorded run, as their clients and the store have them. */
import type { Hold, HoldState } from "../../../src/domain/hold.ts";
import {
  type Operation,
  type Outcome,
  targetMonthOf,
} from "../../../test/support/models/workload-operations.ts";
import { answered, answerOf, entryOf, refused, unanswered } from "./recorded-calls.ts";
import type { Entry } from "./state.ts";

/**
 * The ledger of another account: a grant that was extended, a hold that was captured twice, one
 * that was released, one that timed out, and one that is open.
 */
export function ledgerOfHolds(): Entry[] {
  const month = targetMonthOf(extension) - 1;
  const moved = [
    { month, points: -60 },
    { month: month + 1, points: 60 },
  ];
  const entry = (number: number, eventId: string, available: number, rest: object) =>
    entryOf(number, "h", eventId, { availablePoints: available, createTime: 10 * number, ...rest });
  const of = (holdId: string) => ({ relatedEvent: { origin: "h", eventId: holdId } });
  const released = (points: number, holdId: string, reason: string) => ({
    ...{ type: "RELEASED", points, reason, ...of(holdId) },
  });
  const captured = (points: number, reason: string) => ({
    ...{ type: "CAPTURED", points, reason, ...of("h-1") },
  });
  const held = (points: number) => ({ type: "HELD", points });
  const byCaller = (eventId: string) => ({ event: { origin: "c", eventId } });
  const granted = { type: "ISSUED", points: 60, changes: [{ month, points: 60 }] };
  const extended = { type: "EXTENDED", points: 60, changes: moved };
  return [
    entry(1, "", 60, { ...byCaller("bg"), ...granted }),
    entry(2, "", 60, { ...byCaller("be"), ...extended, relatedEvent: byCaller("bg").event }),
    entry(3, "h-1", 30, held(30)),
    entry(4, "h-1/capture/k-1", 30, captured(10, "k-1")),
    entry(5, "h-1/capture/k-2", 30, captured(5, "k-2")),
    entry(6, "h-1/release", 45, released(15, "h-1", "k-2")),
    entry(7, "h-2", 25, held(20)),
    entry(8, "h-2/release", 45, released(20, "h-2", "l-2")),
    entry(9, "h-3", 37, held(8)),
    entry(10, "h-3/release", 45, released(8, "h-3", "")),
    entry(11, "h-4", 39, held(6)),
  ];
}

const extension: Operation = {
  id: "be",
  userId: "bob",
  kind: "extend",
  points: 7,
  reverses: "bg",
};

const bobs = (
  id: string,
  kind: Operation["kind"],
  reverses: string,
  until?: number,
): Operation => ({
  ...{ id, userId: "bob", kind, points: 7, reverses },
  ...(until && { until }),
});

/** A grant and its extension, and an extension of a grant that is not there. */
export const extensionsOf = (ledger: readonly Entry[]): Outcome[] => [
  {
    operation: bobs("bg", "grant", "nothing"),
    attempts: [answered(8, answerOf(ledger[0] as Entry))],
  },
  { operation: extension, attempts: [unanswered(15), answered(22, answerOf(ledger[1] as Entry))] },
  { operation: bobs("bx", "extend", "none"), attempts: [refused(25, "LEDGER_ENTRY_NOT_FOUND")] },
];

/** The operations of the holds, and two that were refused. */
export function holdsOf(ledger: readonly Entry[]): Outcome[] {
  const known = (operation: Operation, number: number): Outcome => ({
    operation,
    attempts: [answered(10 * number - 1, answerOf(ledger[number - 1] as Entry))],
  });
  const late = refused(70, "WRONG_STATE", { state: "CAPTURED" });
  const early = refused(1, "HOLD_NOT_FOUND");
  return [
    known(bobs("h-1", "hold", "nothing", 500_000), 3),
    known(bobs("k-1", "capture", "h-1"), 4),
    known(bobs("k-2", "capture", "h-1"), 5),
    { operation: bobs("k-3", "capture", "h-1"), attempts: [late] },
    known(bobs("h-2", "hold", "nothing", 500_000), 7),
    known(bobs("l-2", "release", "h-2"), 8),
    { operation: bobs("l-0", "release", "h-4"), attempts: [early] },
    known(bobs("h-3", "hold", "nothing", 100), 9),
    known(bobs("h-4", "hold", "nothing", 500_000), 11),
  ];
}

/** The records of these holds. */
export function storedHolds(): Hold[] {
  const hold = (id: string, state: HoldState, entryNumber: number, points: number, rest: object) =>
    ({
      ...{ holdId: id, userId: "bob", state, entryNumber, until: 500_000, updateTime: 110 },
      ...{ months: [{ month: 0, points }], captures: [], ...rest },
    }) as unknown as Hold;
  const captures = [
    { eventId: "k-1", entryNumber: 4, points: 10 },
    { eventId: "k-2", entryNumber: 5, points: 5 },
  ];
  return [
    hold("h-1", "CAPTURED", 3, 30, { captures, release: { entryNumber: 6, points: 15 } }),
    hold("h-2", "RELEASED", 7, 20, { release: { entryNumber: 8, points: 20 } }),
    hold("h-3", "EXPIRED", 9, 8, { release: { entryNumber: 10, points: 8 }, until: 100 }),
    hold("h-4", "HELD", 11, 6, {}),
  ];
}
