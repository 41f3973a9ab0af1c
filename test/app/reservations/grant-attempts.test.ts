/** Tests which errors of a grant attempt Temporal retries, and which the workflow shows. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { expect, test } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import type { Clock } from "../../../src/app/ports/clock.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";

const logger = new DefaultLogger("ERROR", () => {});

interface Attempt {
  readonly dueMs: number;
  readonly scheduledMs: number;
  /** Another clock. */
  readonly now?: Clock["now"];
}

/** Runs the grant activity on a store that is away, for a reservation that was due `dueMs` ago. */
function attempt({ dueMs, scheduledMs, now }: Attempt) {
  const { deps, clock } = createReservationFixture();
  clock.time = Date.now() + 1_000;
  const away = () => Promise.reject(new DomainError("STORE_UNAVAILABLE", "away"));
  const { grantWhenDue } = createActivities({
    deps: { ...deps, engine: { transact: away }, ...(now && { clock: { now } }) },
    onDone: () => {},
    onOverdue: () => {},
  });
  const scheduledTimestampMs = Date.now() - scheduledMs;
  const execute_time = new Date(Date.now() - dueMs).toISOString();
  const environment = new MockActivityEnvironment({ scheduledTimestampMs }, { logger });
  return environment.run(grantWhenDue, {
    program_id: programId,
    reservation_id: "r",
    user_id: "r",
    points: 10,
    execute_time,
    execute_time_at_start: execute_time,
    lead_ms: 0,
    original_run_id: "run",
  });
}

test.each([
  { dueMs: 0, scheduledMs: 3_600_000 },
  { dueMs: 3_600_000, scheduledMs: 0 },
])("a reservation that has just become due is tried again by Temporal: %o", async (times) => {
  const failure = { type: "STORE_UNAVAILABLE", nonRetryable: false };
  await expect(attempt(times)).rejects.toMatchObject(failure);
});

test("one that has been due for longer shows the reason", async () => {
  const step = await attempt({ dueMs: 60_000, scheduledMs: 60_000 });
  expect(step).toMatchObject({ step: "RETRY", reason: "STORE_UNAVAILABLE" });
});

test.each([0, -3_600_000])(
  "a clock that is off is shown at once, due since %i ms",
  async (dueMs) => {
    const now = () => Promise.reject(new DomainError("CLOCK_OFF", "off"));
    const step = await attempt({ dueMs, scheduledMs: 0, now });
    expect(step).toMatchObject({ step: "RETRY", reason: "CLOCK_OFF" });
  },
);
