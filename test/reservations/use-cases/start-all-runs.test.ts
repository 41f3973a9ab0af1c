/** Tests the sweep that starts all runs after the loss of a namespace. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { describe, expect, test } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import type { ReservationName } from "../../../src/due/ports/due.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { StartProgress } from "../../../src/reservations/contract/payloads.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";
import { noObservers } from "../../support/fixtures/no-observers.ts";
import { randomFrom } from "../../support/models/random.ts";

type Fixture = ReturnType<typeof createReservationFixture>;

const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `r-${i}`);

const logger = new DefaultLogger("ERROR", () => {});

/** Runs the activity that starts all runs, as Temporal does: again after an error. */
async function startAll(deps: WorkerDeps) {
  const { startAllRuns } = createActivities({ deps, ...noObservers });
  let heartbeatDetails: unknown;
  let step: StartProgress = { started: 0, failed: 0, failures: [] };
  for (let attempts = 1; attempts < 100; attempts++) {
    const environment = new MockActivityEnvironment({ heartbeatDetails }, { logger });
    environment.on("heartbeat", (details) => {
      heartbeatDetails = JSON.parse(JSON.stringify(details));
    });
    try {
      step = await environment.run(startAllRuns, step);
      if (step.cursor === undefined) return { counts: step, attempts };
      heartbeatDetails = undefined;
    } catch (error) {
      expect(error).toMatchObject({ type: "WORKFLOWS_UNAVAILABLE", nonRetryable: false });
    }
  }
  throw new Error("the activity never ends");
}

/** 400 records of which no run was started, and a port that starts them with these errors. */
async function reservationsWithoutRuns(
  errorOf: (name: ReservationName, call: number) => Error | undefined,
) {
  let calls = 0;
  const started = new Map<string, number>();
  const fixture: Fixture = createReservationFixture({
    async startReservation({ programId, reservationId }) {
      calls += 1;
      const error = errorOf({ programId, reservationId }, calls);
      if (error) throw error;
      started.set(reservationId, (started.get(reservationId) ?? 0) + 1);
    },
  });
  const ids = namesOf(400);
  for (const id of ids) await fixture.reserve(id, { inMs: 3_600_000 });
  return { ...fixture, ids, started, callCount: () => calls };
}

const unavailable = () => new DomainError("WORKFLOWS_UNAVAILABLE", "for a moment");

describe("startAllRuns", () => {
  test("starts few runs twice when 0.5 % of the starts fail", async () => {
    const random = randomFrom(3);
    const all = await reservationsWithoutRuns(() => (random() < 0.005 ? unavailable() : undefined));
    const { counts } = await startAll(all.deps);
    expect(counts).toEqual({ started: 400, failed: 0, failures: [] });
    expect([...all.started.keys()].toSorted()).toEqual(all.ids.toSorted());
    expect(all.callCount()).toBeGreaterThan(400);
    expect(all.callCount()).toBeLessThanOrEqual(404);
  });

  test("goes on after an outage of Temporal where it was", async () => {
    const all = await reservationsWithoutRuns((_, call) =>
      call > 150 && call <= 400 ? unavailable() : undefined,
    );
    const { counts, attempts } = await startAll(all.deps);
    expect(attempts).toBeGreaterThan(2);
    expect(counts).toEqual({ started: 400, failed: 0, failures: [] });
    expect([...all.started.values()]).toEqual(Array(400).fill(1));
  });

  test("starts the others when one start is always refused", async () => {
    const invalid = Object.assign(new Error("3 INVALID_ARGUMENT: too long"), { code: 3 });
    const all = await reservationsWithoutRuns(({ reservationId }) =>
      reservationId === "r-17" ? invalid : undefined,
    );
    const { counts, attempts } = await startAll(all.deps);
    const failures = [{ program_id: programId, reservation_id: "r-17", reason: "INTERNAL" }];
    expect({ counts, attempts }).toEqual({
      counts: { started: 399, failed: 1, failures },
      attempts: 1,
    });
    expect(all.started.size).toBe(399);
    expect(await all.recordOf("r-17")).toMatchObject({ state: "PENDING" });
  });
});
