/** Measures how many starts a full pass of the reconciler makes when some of them fail. */

import { reservationRef } from "../../src/app/ports/records.ts";
import { startAllRuns } from "../../src/app/reservations/reconcile.ts";
import { asService } from "../../src/domain/caller.ts";
import { DomainError } from "../../src/domain/errors.ts";
import { setupProgram } from "../../src/ops/setup.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";
import { memoryDeps } from "../../test/support/stores/memory-store.ts";
import type { Benchmark } from "../benchmark.ts";
import { round } from "../support/numbers.ts";

/** The share of the starts to which Temporal does not answer. */
const failureRate = 0.005;

type Progress = Parameters<typeof startAllRuns>[1];

/** Starts of a full pass over pending reservations, over these reservations. */
export const reconcileStarts: Benchmark = {
  names: ["reconcile.starts"],
  async run(scale) {
    const count = scale.pick(10_000, 500);
    const { deps, pages, calls } = await pendingReservations(count);
    let latest: Progress = { started: 0, failed: 0, failures: [] };
    let attempts = 0;
    for (let isOver = false; !isOver; ) {
      attempts += 1;
      try {
        const proceed = (progress: Progress) => {
          latest = progress;
          return true;
        };
        latest = await startAllRuns(deps, latest, proceed, () => {});
        isOver = true;
      } catch (error) {
        scale.note(`attempt ${attempts}: ${String(error)}`);
      }
    }
    if (latest.started !== count || calls.started.size !== count) {
      throw new Error(`${calls.started.size} of ${count} runs were started`);
    }
    scale.note(
      `${calls.starts} starts of ${count} runs, ${calls.failures} failed; ${pages.count} pages, ` +
        `${round(pages.rows / count)} rows read a reservation; ${attempts} attempts`,
    );
    return [
      {
        name: "reconcile.starts",
        value: round(calls.starts / count),
        unit: "starts a pending reservation, when 0.5 % of the starts fail",
        target: "<= 1.01",
        baseline: "",
        counted: true,
      },
    ];
  },
};

/** Pending reservations in memory, with counts of the pages that are read and of the starts. */
async function pendingReservations(count: number) {
  const { deps, store, clock } = memoryDeps();
  await setupProgram(deps);
  for (let i = 0; i < count; i++) {
    const reservationId = `r-${i}`;
    store.force(reservationRef("default", reservationId), {
      programId: "default",
      reservationId,
      userId: `u-${i}`,
      points: 10,
      reason: "bench",
      creator: asService("bench"),
      hash: "1:h",
      executeTime: clock.time + 3_600_000 + i,
      state: "PENDING",
      createTime: clock.time,
      updateTime: clock.time,
    });
  }
  const pages = { count: 0, rows: 0 };
  const calls = { starts: 0, failures: 0, started: new Set<string>() };
  const reader: typeof deps.reader = {
    ...deps.reader,
    async reservationsInShard(...query) {
      const page = await deps.reader.reservationsInShard(...query);
      pages.count += 1;
      pages.rows += page.items.length;
      return page;
    },
  };
  const workflows: typeof deps.workflows = {
    ...noWorkflows,
    async startReservation({ reservationId }) {
      calls.starts += 1;
      if (Math.random() < failureRate) {
        calls.failures += 1;
        throw new DomainError("WORKFLOWS_UNAVAILABLE", "as the benchmark wants");
      }
      calls.started.add(reservationId);
    },
  };
  return { deps: { ...deps, reader, workflows }, pages, calls };
}
