/** Tests the check of refusals against a ledger, on ledgers that are made by hand. */
import { expect, test } from "vitest";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { Reason } from "../../../src/platform/words/reasons.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { wrongRefusals } from "./refusal-checks.ts";
import type { Attempt, Operation, Outcome } from "./workload-operations.ts";

type Sent = readonly [start: number, end: number];

const operation = (id: string, points: number, reverses = "nothing"): Operation => ({
  id,
  userId: "u",
  kind: "use",
  points,
  reverses,
});

/** A ledger entry and the outcome of the operation that it acknowledges. */
function done(
  number: number,
  id: string,
  points: number,
  balance: number,
  [start, end]: Sent,
  related?: string,
) {
  const ref = (name: string) => ({ origin: "c" as const, eventId: name });
  const type = related ? "REFUNDED" : "ISSUED";
  const entry = {
    number,
    event: ref(id),
    type,
    points,
    availablePoints: balance,
    relatedEvent: related && ref(related),
  };
  const answer = {
    entry: entry as unknown as LedgerEntry,
    availablePoints: balance,
    replayed: false,
  };
  return { entry: answer.entry, outcome: outcome(operation(id, points), { start, end, answer }) };
}

const outcome = (of: Operation, ...attempts: Attempt[]): Outcome => ({ operation: of, attempts });

const refused = (
  of: Operation,
  [start, end]: Sent,
  reason: Reason,
  metadata: Record<string, string> = {},
) => outcome(of, { start, end, error: new DomainError(reason, reason, metadata) });

/** Throws the wrong refusals. */
function checkRefusals(...sent: Parameters<typeof wrongRefusals>): void {
  const wrong = wrongRefusals(...sent);
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
}

/** A grant at 10 to 20, a use of all points at 30 to 40, and a grant at 50 to 60. */
const ledger = [
  done(1, "g1", 10, 10, [10, 20]),
  done(2, "u1", 10, 0, [30, 40]),
  done(3, "g2", 7, 7, [50, 60]),
];

const check = (...outcomes: Outcome[]) =>
  checkRefusals(
    [...ledger.map((each) => each.outcome), ...outcomes],
    ledger.map(({ entry }) => entry),
  );

test.each([
  ["of all times of the call", "0", [41, 49]],
  ["of the state before a call that may not have ended", "10", [35, 45]],
  ["of the state after a call that had already started", "7", [45, 51]],
  ["at the tick of the clock at which another call ended", "0", [60, 65]],
  ["at the tick of the clock at which another call started", "0", [5, 10]],
] as const)("a refusal is right %s", (_, balance, sent) => {
  check(refused(operation("late", 21), sent, "INSUFFICIENT_POINTS", { available_points: balance }));
});

test.each([
  ["that had ended when the call started", "10", [41, 49]],
  ["that came when the call had ended", "7", [41, 49]],
  ["that never existed", "3", [0, 100]],
] as const)("a refusal is wrong with a balance %s", (_, balance, sent) => {
  const late = refused(operation("late", 21), sent, "INSUFFICIENT_POINTS", {
    available_points: balance,
  });
  expect(() => check(late)).toThrow(/late was refused/);
});

test("a refusal is wrong when the balance would have been enough", () => {
  const insufficient = { available_points: "10" };
  const sent = [21, 29] as const;
  expect(() =>
    check(refused(operation("late", 9), sent, "INSUFFICIENT_POINTS", insufficient)),
  ).toThrow();
  // A use of an even number of points may be partial.
  expect(() =>
    check(refused(operation("late", 20), sent, "INSUFFICIENT_POINTS", insufficient)),
  ).toThrow();
  check(refused(operation("late", 11), sent, "INSUFFICIENT_POINTS", insufficient));
});

test("a refusal is wrong when an earlier attempt of the operation had succeeded", () => {
  const again = (sent: Sent, balance: string) =>
    refused(operation("u1", 10), sent, "INSUFFICIENT_POINTS", { available_points: balance });
  expect(() => check(again([41, 49], "0"))).toThrow();
  expect(() => check(again([31, 39], "0"))).toThrow();
  // Before the points were granted, it would have been right.
  check(again([15, 39], "0"));
});

test("refunds: the rest of the use, and whether the use existed", () => {
  const refund = done(4, "r1", 4, 11, [70, 80], "u1");
  const outcomes = [...ledger, refund].map((each) => each.outcome);
  const entries = [...ledger, refund].map(({ entry }) => entry);
  const of = (id: string, points: number, reverses: string) =>
    ({ ...operation(id, points, reverses), kind: "refund" }) as const;
  const verify = (late: Outcome) => checkRefusals([...outcomes, late], entries);
  // 33 points of the plan are a refund of 7; 34 one of all that is left.
  const tooMuch = { refundable_points: "6" };
  verify(refused(of("r2", 33, "u1"), [81, 90], "LIMIT_EXCEEDED", tooMuch));
  const early = refused(of("r2", 33, "u1"), [61, 69], "LIMIT_EXCEEDED", tooMuch);
  expect(() => verify(early)).toThrow();
  const all = refused(of("r2", 34, "u1"), [81, 90], "LIMIT_EXCEEDED", tooMuch);
  expect(() => verify(all)).toThrow();
  verify(refused(of("r2", 34, "u1"), [25, 35], "LEDGER_ENTRY_NOT_FOUND"));
  const unseen = refused(of("r2", 34, "u1"), [41, 45], "LEDGER_ENTRY_NOT_FOUND");
  expect(() => verify(unseen)).toThrow();
  expect(() => verify(refused(of("r2", 34, "u1"), [0, 99], "ACCOUNT_FROZEN"))).toThrow();
});
