/** The check of refusals against history, on histories made by hand. */
import { expect, test } from "vitest";
import { DomainError, type Reason } from "../../../src/domain/errors.ts";
import type { LedgerEntry } from "../../../src/domain/ledger.ts";
import type { Attempt, Operation, Outcome } from "../../support/models/fault-workload.ts";
import { checkRefusals } from "../../support/models/refusal-checks.ts";

type Sent = readonly [start: number, end: number];

const operation = (id: string, points: number, undoes = "nothing"): Operation => ({
  id,
  userId: "u",
  kind: "use",
  points,
  undoes,
});

/** An entry of the ledger, and the call that was acknowledged with it. */
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
    balance,
    relatedEvent: related && ref(related),
  };
  const answer = { entry: entry as unknown as LedgerEntry, balance, replayed: false };
  return { entry: answer.entry, outcome: outcome(operation(id, points), { start, end, answer }) };
}

const outcome = (of: Operation, ...attempts: Attempt[]): Outcome => ({ operation: of, attempts });

const refused = (
  of: Operation,
  [start, end]: Sent,
  reason: Reason,
  metadata: Record<string, string> = {},
) => outcome(of, { start, end, error: new DomainError(reason, reason, metadata) });

/** Points come at 10 to 20, go at 30 to 40, and come again at 50 to 60. */
const history = [
  done(1, "g1", 10, 10, [10, 20]),
  done(2, "u1", 10, 0, [30, 40]),
  done(3, "g2", 7, 7, [50, 60]),
];

const check = (...outcomes: Outcome[]) =>
  checkRefusals(
    [...history.map((each) => each.outcome), ...outcomes],
    history.map(({ entry }) => entry),
  );

test.each([
  ["of all times that it may have met", "0", [41, 49]],
  ["of the state before a call that may not have been over", "10", [35, 45]],
  ["of the state after a call that had already started", "7", [45, 51]],
  ["at the step of the clock at which another ended", "0", [60, 65]],
  ["at the step of the clock at which another started", "0", [5, 10]],
] as const)("a refusal is right %s", (_, balance, sent) => {
  check(refused(operation("late", 21), sent, "INSUFFICIENT_POINTS", { balance }));
});

test.each([
  ["that was over when the call started", "10", [41, 49]],
  ["that came when the call had ended", "7", [41, 49]],
  ["that never was", "3", [0, 100]],
] as const)("a refusal is wrong with a balance %s", (_, balance, sent) => {
  const late = refused(operation("late", 21), sent, "INSUFFICIENT_POINTS", { balance });
  expect(() => check(late)).toThrow(/late was refused/);
});

test("a refusal is wrong when the balance would have been enough", () => {
  const told = { balance: "10" };
  const sent = [21, 29] as const;
  expect(() => check(refused(operation("late", 9), sent, "INSUFFICIENT_POINTS", told))).toThrow();
  // An even number of points is a use that takes what there is.
  expect(() => check(refused(operation("late", 20), sent, "INSUFFICIENT_POINTS", told))).toThrow();
  check(refused(operation("late", 11), sent, "INSUFFICIENT_POINTS", told));
});

test("a refusal is wrong when another sending of the operation had succeeded before", () => {
  const again = (sent: Sent, balance: string) =>
    refused(operation("u1", 10), sent, "INSUFFICIENT_POINTS", { balance });
  expect(() => check(again([41, 49], "0"))).toThrow();
  expect(() => check(again([31, 39], "0"))).toThrow();
  // Before the points came, it would have been right.
  check(again([15, 39], "0"));
});

test("refunds: what is left of the use, and whether it was there", () => {
  const refund = done(4, "r1", 4, 11, [70, 80], "u1");
  const outcomes = [...history, refund].map((each) => each.outcome);
  const ledger = [...history, refund].map(({ entry }) => entry);
  const of = (id: string, points: number, undoes: string) =>
    ({ ...operation(id, points, undoes), kind: "refund" }) as const;
  const verify = (late: Outcome) => checkRefusals([...outcomes, late], ledger);
  // 33 points of the plan are a refund of 7; 34 one of all that is left.
  const tooMuch = { refundable: "6" };
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
