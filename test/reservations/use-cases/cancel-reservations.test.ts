/** Tests the bounds of a call, that a repeated one loses none, and that a call has one act. */
import { expect, test } from "vitest";
import type { Engine } from "../../../src/platform/ports/engine.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import { cancelReservations } from "../../../src/reservations/use-cases/cancel-reservations.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "p";
const count = 1_050;

const reservation = (i: number): Reservation => ({
  programId,
  reservationId: `r-${i}`,
  userId: "u",
  points: 1,
  reason: "sale",
  creator: asService("shop"),
  hash: "h",
  executeTime: 1_790_000_000_000 + i,
  state: i % 3 === 0 ? "FAILED" : "PENDING",
  createTime: 0,
  updateTime: 0,
});

function setUp() {
  const { deps, store } = memoryDeps();
  const lifetimes = [{ lifetimeMonths: 12, effectiveTime: 0 }];
  store.force(programRef(programId), { programId, timeZone: "UTC", lifetimes, createTime: 0 });
  for (let i = 0; i < count; i++) store.force(reservationRef(programId, `r-${i}`), reservation(i));
  return { deps, store };
}

const ofUser = { userId: "u" };
const ofReason = { reasonPrefix: "sal", start: 0, end: 2_000_000_000_000 };

const request = {
  programId,
  caller: asService("desk"),
  reason: "",
  cursor: undefined,
  deadline: undefined,
};

const never = () => expect.unreachable();

test.each([ofUser, ofReason])(
  "1,000 at a time, and the rest with the cursor: %j",
  async (filter) => {
    const { deps } = setUp();
    const first = await cancelReservations(deps, { ...request, filter }, never);
    expect([first.cancelled.length, first.skipped, first.errors]).toEqual([1_000, 0, []]);
    expect(first.cursor).toBeDefined();
    const next = { ...request, filter, cursor: first.cursor };
    const second = await cancelReservations(deps, next, never);
    expect([second.cancelled.length, second.cursor]).toEqual([50, undefined]);
    const ids = [...first.cancelled, ...second.cancelled].map(({ reservationId }) => reservationId);
    expect(new Set(ids).size).toBe(count);
    const states = new Set([...first.cancelled, ...second.cancelled].map(({ state }) => state));
    expect([...states]).toEqual(["CANCELLED"]);
  },
);

test.each([ofUser, ofReason])("with validate_only nothing is written: %j", async (filter) => {
  const { deps, store } = setUp();
  const before = store.dump();
  const shown = await cancelReservations(deps, { ...request, filter, validateOnly: true }, never);
  expect(shown.cancelled).toHaveLength(1_000);
  expect(store.dump()).toEqual(before);
});

test("those that the store does not serve are named, and a further call cancels them", async () => {
  const { deps, store } = setUp();
  const filter = { reasonPrefix: "sale", start: 1_790_000_000_000, end: 1_790_000_000_030 };
  store.arriving = ({ op, refs }) =>
    op === "commit" && refs.some(({ id }) => id === "p#r-7") ? "conflict" : undefined;
  const deadline = performance.now() + 1_000;
  const first = await cancelReservations(deps, { ...request, filter, deadline }, never);
  expect(first.errors).toEqual([
    { reservationId: "r-7", error: expect.objectContaining({ retryable: true }) },
  ]);
  store.arriving = undefined;
  const again = await cancelReservations(deps, { ...request, filter }, never);
  const ids = [...first.cancelled, ...again.cancelled].map(({ reservationId }) => reservationId);
  expect(ids.sort()).toEqual(Array.from({ length: 30 }, (_, i) => `r-${i}`).sort());
});

test.each([
  ["is committed", true, 30],
  ["is not", false, 29],
])(
  "a call has one act when the first transaction, whose answer is lost, %s",
  async (_, isCommitted, count) => {
    const { deps, store } = setUp();
    const first = reservationRef(programId, "r-1");
    /** Loses the answer to the transaction that cancels the first reservation. */
    const engine: Engine = {
      async transact(request) {
        const { kind, id } = request.key;
        const isOfFirst = kind === first.kind && id === first.id;
        const isLost = isOfFirst && !request.call?.validateOnly;
        if (!isLost) return deps.engine.transact(request);
        if (isCommitted) await deps.engine.transact(request);
        throw new DomainError("STORE_UNAVAILABLE", "no answer");
      },
    };
    const audit = { caller: asService("desk"), via: "CALL", method: "m", requestId: "q" } as const;
    const filter = { reasonPrefix: "sale", start: 1_790_000_000_000, end: 1_790_000_000_030 };
    await cancelReservations({ ...deps, engine }, { ...request, filter, audit }, never);
    const records = store.stored();
    expect(records.filter(({ ref }) => ref.kind === "act")).toHaveLength(1);
    const cancelled = records.filter(({ value }) => (value as Reservation).state === "CANCELLED");
    expect(cancelled).toHaveLength(count);
  },
);
