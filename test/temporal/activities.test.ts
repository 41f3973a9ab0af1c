/** What activities let into a history. */
import type { ApplicationFailure } from "@temporalio/common";
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { describe, expect, test } from "vitest";
import { type Activities, createActivities } from "../../activities/index.ts";
import type { Deps } from "../../src/app/ports.ts";
import type { ReservationInput } from "../../src/contract.ts";
import { DomainError, reasons } from "../../src/domain/errors.ts";

const quiet = () => {};

const program = { id: "p", zone: "UTC", lifetimes: [{ months: 12, from: 0 }], createTime: 0 };

/** The failure of an activity whose every commit throws `error`. */
async function failureOf(
  error: unknown,
  run: (activities: Activities) => Promise<unknown>,
): Promise<ApplicationFailure> {
  const deps = {
    programs: { get: async () => program },
    clock: { now: async () => ({ calendar: 0, wall: 0 }) },
    engine: { run: () => Promise.reject(error) },
    reader: { dueAccounts: () => Promise.reject(error) },
    background: () => {},
  } as unknown as Deps;
  const activities = createActivities({ deps, onDone: () => {} });
  const environment = new MockActivityEnvironment(
    {},
    { logger: new DefaultLogger("ERROR", quiet) },
  );
  const failed = environment.run(() => run(activities));
  return failed.then(
    () => expect.unreachable("it should fail"),
    (failure: ApplicationFailure) => failure,
  );
}

const cancel = ({ cancelReservation }: Activities) =>
  cancelReservation({ program: "p", reservation: "r" });

describe("a failed activity", () => {
  test.each(reasons)("tells the reason %s, and whether to try again", async (reason) => {
    const error = new DomainError(reason, "the message", { balance: "7" });
    const failure = await failureOf(error, cancel);
    expect(failure).toMatchObject({
      type: reason,
      message: "the message",
      nonRetryable: !error.retryable,
      details: [{ balance: "7" }],
    });
    expect(failure.stack).toBe("");
  });

  test("keeps what nobody thought of to itself, and is tried again", async () => {
    const error = new Error("arn:aws:dynamodb:ap-northeast-1:123456789012:table/secret");
    for (const run of [
      cancel,
      ({ settleShard }: Activities) => settleShard({ program: "p", shard: 0 }),
    ]) {
      const failure = await failureOf(error, run);
      expect(failure).toMatchObject({ type: "INTERNAL", nonRetryable: false });
      expect(JSON.stringify([failure, failure.message, failure.stack])).not.toMatch(/arn|secret/);
      expect(failure.cause).toBeUndefined();
    }
  });

  test("refuses an input of the wrong form for good", async () => {
    const refused = { type: "INVALID_REQUEST", nonRetryable: true };
    const bad = [undefined, {}, { program: "p", reservation: 1, user: "u" }];
    for (const input of bad as unknown as ReservationInput[]) {
      const failure = await failureOf(undefined, (all) => all.executeReservation(input));
      expect(failure).toMatchObject(refused);
    }
    const timeless = ({ rescheduleReservation }: Activities) =>
      rescheduleReservation({ program: "p", reservation: "r" }, { execute_time: "soon" });
    expect(await failureOf(undefined, timeless)).toMatchObject(refused);
  });
});
