/** Tests the states of a reservation and what a run of its workflow has to do. */
import { describe, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import {
  type ChangeRequest,
  cancel,
  changePoints,
  checkExecuteTime,
  checkNotLongPast,
  complete,
  fail,
  latenessCause,
  latenessOf,
  nextStep,
  type Reservation,
  type ReservationState,
  reschedule,
  retry,
  visibleState,
} from "../../../src/reservations/rules/reservation.ts";

const due = Date.UTC(2026, 5, 1);
const later = due + 60_000;
const before = due - 60_000;

const reservation = (state: ReservationState, more: Partial<Reservation> = {}): Reservation => ({
  programId: "p",
  reservationId: "r",
  userId: "u",
  points: 10,
  reason: "",
  creator: asService("shop"),
  hash: "h",
  executeTime: due,
  state,
  createTime: 0,
  updateTime: 0,
  ...(state === "DONE" && { grant: { time: due, entryNumber: 4, dueSince: due } }),
  ...(state === "FAILED" && {
    failure: { reason: "ACCOUNT_FROZEN" as const, message: "m" },
  }),
  ...more,
});

const states = ["PENDING", "DONE", "FAILED", "CANCELLED"] as const;
const wrongState = (state: string) =>
  expect.objectContaining({ reason: "WRONG_STATE", metadata: { state } });

const desk = { caller: asService("desk"), reason: "asked for" };

/** The ledger entry of the grant. */
const entry = { number: 7, points: 10 };

/** What a change adds to a reservation. */
const changedBy = (request: ChangeRequest, time: number) =>
  ({ lastChange: { ...request, time }, updateTime: time }) as const;

describe("transitions", () => {
  test("cancel: until the grant has committed, due or not, or refused; CANCELLED stays", () => {
    for (const now of [before, later]) {
      const cancelled = reservation("CANCELLED", changedBy(desk, now));
      expect(cancel(reservation("PENDING"), desk, now)).toEqual(cancelled);
    }
    const cancelled = reservation("CANCELLED");
    expect(cancel(cancelled, desk, later)).toBe(cancelled);
    expect(() => cancel(reservation("DONE"), desk, before)).toThrow(wrongState("DONE"));
  });

  test("cancel: a FAILED one keeps its failure, and no run tries it again", () => {
    const cancelled = cancel(reservation("FAILED"), desk, later);
    expect(cancelled).toEqual({
      ...reservation("FAILED"),
      ...changedBy(desk, later),
      state: "CANCELLED",
    });
    expect(nextStep(cancelled, later, later + 1)).toBe("CANCELLED");
    expect(() => retry(cancelled, desk, later)).toThrow(wrongState("CANCELLED"));
  });

  test("change of the points: only PENDING, due or not, to 1 to a billion", () => {
    for (const points of [1, 9, 11, 1_000_000_000]) {
      const expected = { ...changedBy(desk, later), points };
      expect(changePoints(reservation("PENDING"), points, desk, later)).toEqual(
        reservation("PENDING", expected),
      );
    }
    const same = reservation("PENDING");
    expect(changePoints(same, 10, desk, later)).toBe(same);
    for (const state of ["DONE", "FAILED", "CANCELLED"] as const) {
      expect(() => changePoints(reservation(state), 9, desk, before)).toThrow(wrongState(state));
    }
    for (const points of [0, -1, 1.5, 1_000_000_001, Number.NaN]) {
      expect(() => changePoints(same, points, desk, before)).toThrow(
        expect.objectContaining({ reason: "INVALID_REQUEST" }),
      );
    }
  });

  test("reschedule: only PENDING, to any time", () => {
    const moved = reschedule(reservation("PENDING"), later, desk, before);
    const expected = { ...changedBy(desk, before), executeTime: later };
    expect(moved).toEqual(reservation("PENDING", expected));
    const earlier = reschedule(moved, 5, desk, before);
    expect(earlier).toEqual(reservation("PENDING", { ...expected, executeTime: 5 }));
    const same = reservation("PENDING");
    expect(reschedule(same, due, desk, before)).toBe(same);
    for (const state of ["DONE", "FAILED", "CANCELLED"] as const) {
      expect(() => reschedule(reservation(state), later, desk, before)).toThrow(wrongState(state));
    }
  });

  test("retry: FAILED goes back to PENDING", () => {
    const { failure: _, ...rest } = reservation("FAILED");
    const retried = { ...rest, ...changedBy(desk, later), state: "PENDING" };
    expect(retry(reservation("FAILED"), desk, later)).toEqual(retried);
    const pending = reservation("PENDING");
    expect(retry(pending, desk, later)).toBe(pending);
    for (const state of ["DONE", "CANCELLED"] as const) {
      expect(() => retry(reservation(state), desk, later)).toThrow(wrongState(state));
    }
  });

  test("a change without a reason removes that of the change before", () => {
    const moved = reschedule(reservation("PENDING"), later, desk, before);
    const shop = { caller: asService("shop"), reason: "" };
    const cancelled = cancel(moved, shop, later);
    expect(moved.lastChange).toEqual({ ...desk, time: before });
    expect(cancelled.lastChange).toEqual({ ...shop, time: later });
  });

  test("complete and fail", () => {
    expect(complete(reservation("PENDING"), entry, later)).toEqual(
      reservation("DONE", {
        grant: { time: later, entryNumber: 7, dueSince: due },
        updateTime: later,
      }),
    );
    // A FAILED record that a later run completes keeps no failure.
    expect(complete(reservation("FAILED"), entry, later)).not.toHaveProperty("failure");
    const error = new DomainError("ACCOUNT_FROZEN", "m");
    expect(fail(reservation("PENDING"), error, later)).toEqual(
      reservation("FAILED", { updateTime: later }),
    );
  });
});

describe("what an attempt has to do", () => {
  test.each<[ReservationState, number, string]>([
    ["PENDING", before, "WAIT"],
    ["PENDING", due - 1, "WAIT"],
    ["PENDING", due, "GRANT"],
    ["PENDING", later, "GRANT"],
    ["DONE", before, "DONE"],
    ["DONE", later, "DONE"],
    ["CANCELLED", before, "CANCELLED"],
    ["CANCELLED", later, "CANCELLED"],
    ["FAILED", before, "FAILED"],
    ["FAILED", later, "FAILED"],
  ])("%s at %i: %s", (state, now, step) => {
    expect(nextStep(reservation(state), now)).toBe(step);
  });

  test("FAILED stays for every run, until a retry or a reset after the failure", () => {
    const error = new DomainError("ACCOUNT_FROZEN", "m");
    const failed = fail(reservation("PENDING"), error, later);
    expect(nextStep(failed, later + 1)).toBe("FAILED");
    // A run that was reset before the failure.
    for (const reset of [later - 1, later]) {
      expect(nextStep(failed, later + 1, reset)).toBe("FAILED");
    }
    expect(nextStep(failed, later + 2, later + 1)).toBe("GRANT");
    expect(nextStep(retry(failed, desk, later), later + 1)).toBe("GRANT");
    expect(nextStep(cancel(failed, desk, later), later + 2, later + 1)).toBe("CANCELLED");
  });
});

describe("lateness", () => {
  test.each<[string, Partial<Reservation>, number]>([
    ["the execute time", { updateTime: before }, 60_000],
    ["a later creation, when the execute time was past", { updateTime: due + 59_000 }, 1_000],
    ["no negative time, when the last change was made by a faster clock", { updateTime: 2e12 }, 0],
  ])("counts from %s", (_, more, lateness) => {
    expect(latenessOf(complete(reservation("PENDING", more), entry, later))).toBe(lateness);
  });

  test.each<[string | undefined, string, Reservation, number?]>([
    ["due", "a reservation that was never changed", reservation("PENDING")],
    ["due", "one that was created late", reservation("PENDING", { updateTime: later })],
    ["due", "one that was moved before", reschedule(reservation("PENDING"), later, desk, before)],
    ["due", "one that fell due after a pause", reservation("PENDING"), due],
    ["paused", "one that fell due in a pause", reservation("PENDING"), due + 1],
    ["retried", "one that was retried", retry(reservation("FAILED"), desk, later)],
    [
      "retried",
      "one that was moved to a past time",
      reschedule(reservation("PENDING"), before, desk, later),
    ],
    [
      "paused",
      "one that was retried in a pause",
      retry(reservation("FAILED"), desk, later),
      later + 1,
    ],
    [undefined, "one whose failed run was reset", reservation("FAILED"), later],
  ])("has the cause %s of %s", (cause, _, record, resumeTime) => {
    expect(latenessCause(record, resumeTime)).toBe(cause);
  });

  test("counts from a retry or move days after the execute time", () => {
    const days = due + 5 * 86_400_000;
    const moved = reschedule(reservation("PENDING"), before, desk, days);
    for (const changed of [retry(reservation("FAILED"), desk, days), moved]) {
      expect(latenessOf(complete(changed, entry, days + 80))).toBe(80);
    }
  });

  test("is 0 until the grant, and counts from the instant that the grant has stored", () => {
    for (const state of ["PENDING", "FAILED", "CANCELLED"] as const) {
      expect(latenessOf(reservation(state, { updateTime: later }))).toBe(0);
    }
    expect(
      latenessOf(reservation("DONE", { grant: { time: later, entryNumber: 7, dueSince: due } })),
    ).toBe(60_000);
  });
});

test("a PENDING reservation is shown as PROCESSING when it is due", () => {
  expect(visibleState(reservation("PENDING"), due - 1)).toBe("PENDING");
  expect(visibleState(reservation("PENDING"), due)).toBe("PROCESSING");
  for (const state of states.slice(1)) expect(visibleState(reservation(state), later)).toBe(state);
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
      metadata: { field: "execute_time", latest: "2029-03-01T12:00:00.000Z" },
    }),
  );
  expect(() => reschedule(reservation("PENDING"), latest + 1, desk, now)).toThrow(DomainError);
});

describe("a time more than a day ago", () => {
  const now = Date.UTC(2026, 10, 12);

  test.each([
    ["one in the future", now + 1],
    ["a day ago", now - 86_400_000],
  ])("is not %s", (_, executeTime) => {
    checkNotLongPast(executeTime, now);
  });

  test("is refused with how it reads", () => {
    const executeTime = now - 86_400_001;
    expect(() => checkNotLongPast(executeTime, now)).toThrow(
      expect.objectContaining({
        reason: "INVALID_REQUEST",
        metadata: { field: "execute_time" },
        message:
          "execute_time is more than a day ago: it reads as 2026-11-10T23:59:59.999Z; " +
          "with allow_past_execute_time the points are granted at once",
      }),
    );
  });

  test("in 1970 is refused with what it may be", () => {
    expect(() => checkNotLongPast(now / 1_000, now)).toThrow(
      "it reads as 1970-01-21T18:27:21.600Z; seconds taken for milliseconds are in January 1970;",
    );
  });
});

const noTimes = [Date.UTC(1926, 0, 1), -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY];
test.each(noTimes)("%d is no execute time, neither at first nor after a move", (executeTime) => {
  const refusal = expect.objectContaining({
    reason: "INVALID_REQUEST",
    metadata: { field: "execute_time" },
  });
  expect(() => checkExecuteTime(executeTime, before)).toThrow(refusal);
  expect(() => reschedule(reservation("PENDING"), executeTime, desk, before)).toThrow(refusal);
});
