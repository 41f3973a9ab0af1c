/** Measures how many accounts a second a liability report adds up. */

import { asService } from "../../src/platform/words/caller.ts";
import { monthAt, monthStart } from "../../src/platform/words/month.ts";
import { jobWorkflowId } from "../../src/points/contract/jobs.ts";
import { shardCount } from "../../src/points/contract/points.ts";
import { lifetimeAt } from "../../src/points/rules/account.ts";
import { getJob, startJob } from "../../src/points/use-cases/jobs/jobs.ts";
import { liabilityReport } from "../../src/points/use-cases/jobs/liability.ts";
import { jobTiming } from "../../workflows/timing.ts";
import type { Benchmark } from "../benchmark.ts";
import { seedMonthEnd } from "../support/month-ends.ts";
import { ofTurns, round } from "../support/numbers.ts";
import { type Stack, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

/** The rate of one worker where the ledger of each account is read, for its totals since. */
export const reportRate: Benchmark = {
  names: ["report.accounts_per_second"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      await stack.startWorker();
      const programId = "reported";
      const perShard = scale.pick(500, 4);
      await seedMonthEnd(stack, programId, perShard);
      const accounts = perShard * shardCount;
      const turns: number[] = [];
      for (let turn = 0; turn < scale.pick(4, 1); turn++) {
        const seconds = await report(stack, programId, `turn-${turn}`, accounts);
        turns.push(accounts / seconds);
      }
      // The first turn warms the worker up.
      const rates = turns.length > 1 ? turns.slice(1) : turns;
      scale.note(`${accounts} accounts: ${turns.map(round)} a second`);
      return [
        {
          name: "report.accounts_per_second",
          ...ofTurns(rates),
          unit: "accounts a second of one worker, each with entries since",
          target: "",
          baseline: "",
        },
      ];
    }),
};

/** Runs a report since between the two grants of each account. Returns its time in seconds. */
async function report(
  stack: Stack,
  programId: string,
  jobId: string,
  accounts: number,
): Promise<number> {
  const { deps } = stack;
  const { timeZone, ...program } = await deps.programs.get(programId);
  const now = Date.now();
  const second = monthAt(timeZone, now) - lifetimeAt({ timeZone, ...program }, now) + 1;
  const since = monthStart(timeZone, second);
  const start = performance.now();
  const call = { programId, jobId, caller: asService("bench") };
  await startJob(deps, liabilityReport, { ...call, request: { since } });
  // The dependencies of the benchmark start no workflow.
  await withTemporalClient(stack, ({ workflow }) =>
    workflow.execute("liabilityReport", {
      workflowId: jobWorkflowId({ ...call, kind: liabilityReport.kind.name }),
      taskQueue: stack.config.taskQueue,
      args: [{ program_id: programId, job_id: jobId }],
    }),
  );
  const { sum } = await getJob(deps, liabilityReport, { programId, jobId });
  if (sum.accounts !== accounts) throw new Error(`the report has ${sum.accounts} accounts`);
  return (performance.now() - start - jobTiming.lateEntriesMs) / 1_000;
}
