/** Tests the states of a reservation and what a run of its workflow has to do. */
import { describe, expect, test } from "vitest";
import { DomainError } from "../../src/domain/errors.ts";
import {
  cancel,
  checkExecuteTime,
  complete,
  fail,
  nextStep,
  type Reservation,
  type ReservationState,
  reschedule,
  retry,
  visibleState,
} from "../../src/domain/reservation.ts";

const due = Date.UTC(2026, 5, 1);
const later = due + 60_000;
const before = due - 60_000;

const row = (state: ReservationState, more: Partial<Reservation> = {}): Reservation => ({
  programId: "p",
  reservationId: "r",
  userId: "u",
  points: 10,
  reason: "",
  caller: "shop",
  hash: "h",
  executeTime: due,
  state,
  createTime: 0,
  updateTime: 0,
  ...(state === "DONE" && { executed: { time: due, entryNumber: 4 } }),
  ...(state === "FAILED" && {
    failure: { reason: "ACCOUNT_FROZEN" as const, message: "m" },
    failedRunId: "one",
  }),
  ...more,
});

const states = ["PENDING", "DONE", "FAILED", "CANCELLED"] as const;
const wrongState = (state: string) =>
  expect.objectContaining({ reason: "WRONG_STATE", metadata: { state } });

describe("transitions", () => {
  test("cancel: PENDING until the grant has committed, due or not; CANCELLED stays", () => {
    for (const now of [before, later]) {
      expect(cancel(row("PENDING"), now)).toEqual(row("CANCELLED", { updateTime: now }));
    }
    const cancelled = row("CANCELLED");
    expect(cancel(cancelled, later)).toBe(cancelled);
    for (const state of ["DONE", "FAILED"] as const) {
      expect(() => cancel(row(state), before)).toThrow(wrongState(state));
    }
  });

  test("reschedule: only PENDING, to any time; a move to an earlier time is marked", () => {
    const moved = reschedule(row("PENDING"), later, before);
    expect(moved).toEqual(row("PENDING", { executeTime: later, updateTime: before }));
    const earlier = reschedule(row("PENDING"), 5, before);
    expect(earlier).toEqual(
      row("PENDING", { executeTime: 5, updateTime: before, movedEarlier: true }),
    );
    // The mark stays: the workflow may still sleep until the first time.
    expect(reschedule(earlier, later, before).movedEarlier).toBe(true);
    const same = row("PENDING");
    expect(reschedule(same, due, before)).toBe(same);
    for (const state of ["DONE", "FAILED", "CANCELLED"] as const) {
      expect(() => reschedule(row(state), later, before)).toThrow(wrongState(state));
    }
  });

  test("retry: FAILED goes back to PENDING and remembers the run that failed", () => {
    const { failure: _, ...rest } = row("FAILED");
    expect(retry(row("FAILED"), later)).toEqual({ ...rest, state: "PENDING", updateTime: later });
    const pending = row("PENDING");
    expect(retry(pending, later)).toBe(pending);
    for (const state of ["DONE", "CANCELLED"] as const) {
      expect(() => retry(row(state), later)).toThrow(wrongState(state));
    }
  });

  test("complete and fail", () => {
    expect(complete(row("PENDING"), 7, later)).toEqual(
      row("DONE", { executed: { time: later, entryNumber: 7 }, updateTime: later }),
    );
    // A FAILED row that a later run completes keeps no failure.
    expect(complete(row("FAILED"), 7, later)).not.toHaveProperty("failure");
    const error = new DomainError("ACCOUNT_FROZEN", "m");
    expect(fail(row("PENDING"), error, "one", later)).toEqual(row("FAILED", { updateTime: later }));
  });
});

describe("what a run has to do", () => {
  test.each<[ReservationState, number, string, string]>([
    ["PENDING", before, "one", "WAIT"],
    ["PENDING", due - 1, "one", "WAIT"],
    ["PENDING", due, "one", "GRANT"],
    ["PENDING", later, "one", "GRANT"],
    ["DONE", before, "one", "DONE"],
    ["DONE", later, "two", "DONE"],
    ["CANCELLED", before, "one", "CANCELLED"],
    ["CANCELLED", later, "two", "CANCELLED"],
    ["FAILED", later, "one", "FAILED"],
    ["FAILED", before, "one", "FAILED"],
    ["FAILED", later, "two", "GRANT"],
    ["FAILED", before, "two", "WAIT"],
  ])("%s", (state, now, run, step) => {
    expect(nextStep(row(state), run, now)).toBe(step);
  });

  test("the run that failed never tries again, though the row is PENDING again", () => {
    const again = retry(row("FAILED"), later);
    expect(nextStep(again, "one", later)).toBe("FAILED");
    expect(nextStep(again, "two", later)).toBe("GRANT");
    // The same holds for the next run once it has failed.
    const error = new DomainError("ACCOUNT_FROZEN", "m");
    const twice = retry(fail(again, error, "two", later), later);
    expect(nextStep(twice, "two", later)).toBe("FAILED");
  });
});

test("a PENDING reservation is shown as PROCESSING when it is due", () => {
  expect(visibleState(row("PENDING"), due - 1)).toBe("PENDING");
  expect(visibleState(row("PENDING"), due)).toBe("PROCESSING");
  for (const state of states.slice(1)) expect(visibleState(row(state), later)).toBe(state);
});

test("the execute time is at most five years ahead, leap days included, or past", () => {
  const now = Date.UTC(2024, 1, 29, 12);
  // 2029 has no leap day: five years from it are the first of March.
  const latest = Date.UTC(2029, 2, 1, 12);
  checkExecuteTime(latest, now);
  checkExecuteTime(0, now);
  expect(() => checkExecuteTime(latest + 1, now)).toThrow(
    expect.objectContaining({
      reason: "INVALID_REQUEST",
      metadata: expect.objectContaining({ latest: "2029-03-01T12:00:00.000Z" }),
    }),
  );
  expect(() => reschedule(row("PENDING"), latest + 1, now)).toThrow(DomainError);
});
