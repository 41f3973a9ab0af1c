/** Measures the memory of grants that are held until their execute time. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { createActivities } from "../../activities/index.ts";
import type { WorkerDeps } from "../../src/hub/deps.ts";
import type { GrantInput } from "../../src/reservations/contract/payloads.ts";
import type { ReservationStep } from "../../src/reservations/contract/reservations.ts";
import { noObservers } from "../../test/support/fixtures/no-observers.ts";
import type { Benchmark } from "../benchmark.ts";
import { round } from "../support/numbers.ts";
import { residentKb } from "../support/resident.ts";

const dueInMs = 600_000;

/** Resident memory of a held grant activity; it does not include what Temporal's core keeps. */
export const holdMemory: Benchmark = {
  names: ["reservation.hold.memory"],
  async run(scale) {
    const count = scale.pick(10_000, 500);
    const { deps, clock, granted } = fakeDeps();
    const { grantWhenDue } = createActivities({ deps, ...noObservers });
    const executeTime = clock.time + dueInMs;
    const hold = (i: number): Promise<ReservationStep> =>
      new MockActivityEnvironment().run(grantWhenDue, inputOf(i, executeTime));
    // The first ones load and compile the code.
    const warm = Array.from({ length: 100 }, (_, i) => hold(i));
    const before = await residentKb();
    const held = Array.from({ length: count }, (_, i) => hold(warm.length + i));
    const after = await residentKb();
    if (granted.count > 0) throw new Error(`${granted.count} were granted before their time`);
    clock.time = executeTime;
    const releasedAt = performance.now();
    const steps = await Promise.all([...warm, ...held]);
    const releaseMs = performance.now() - releasedAt;
    const done = steps.filter(({ step }) => step === "DONE").length;
    if (done !== steps.length) throw new Error(`${done} of ${steps.length} were granted`);
    scale.note(
      `${before} KB, then ${after} KB; all released within ${releaseMs.toFixed(0)} ms of the time`,
    );
    return [
      {
        name: "reservation.hold.memory",
        value: round((after - before) / count),
        unit: "KB of resident memory a held grant, 10,000 held",
        target: "<= 20",
        baseline: "",
      },
    ];
  },
};

const inputOf = (i: number, executeTime: number): GrantInput => ({
  program_id: "default",
  reservation_id: `r-${i}`,
  user_id: `u-${i}`,
  execute_time: new Date(executeTime).toISOString(),
  lead_ms: 2 * dueInMs,
  original_run_id: "run",
});

/** An engine whose grants succeed at once, and a clock whose time the benchmark sets. */
function fakeDeps() {
  const clock = {
    time: Date.now(),
    async now() {
      return { wall: clock.time, calendar: clock.time };
    },
  };
  const granted = { count: 0 };
  const times = { executeTime: 0, updateTime: 0 };
  const reservation = { programId: "default", state: "DONE", points: 10, ...times };
  const engine = {
    async transact() {
      granted.count += 1;
      return { outcome: "DONE", reservation, availablePoints: 10 };
    },
  };
  const program = { programId: "default", timeZone: "Asia/Tokyo" };
  const programs = { get: async () => program, read: async () => program };
  return { deps: { clock, engine, programs } as unknown as WorkerDeps, clock, granted };
}
