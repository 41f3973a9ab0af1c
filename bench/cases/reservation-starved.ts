/** Measures grants of one instant on a tenth of the cores. */
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { defaultProgramId } from "../../src/platform/words/program-ids.ts";
import { reservationWorkflowId } from "../../src/reservations/contract/reservations.ts";
import { latenessOf } from "../../src/reservations/rules/reservation.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { reserve, userName } from "../support/calls.ts";
import { cpuSecondsOf } from "../support/cpu.ts";
import { share, starved } from "../support/hogs.ts";
import { inParallel } from "../support/load.ts";
import { ofTurns, round, sum } from "../support/numbers.ts";
import { allDone } from "../support/reservations.ts";
import { type ServerProcess, type Stack, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

/** The attempts of a grant, and the time until the last one, on a machine that is too slow. */
export const reservationStarved: Benchmark = {
  names: ["reservation.starved", "reservation.starved_attempts"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      const worker = await stack.startWorker();
      const pids = [worker.pid, stack.temporalPid ?? 0, stack.dynamo.pid];
      const burst = (name: string) => grantAtOnce({ stack, server, pids, scale }, name);
      // Not measured, because first requests are slower than later ones.
      await burst("warm");
      const lasts: number[] = [];
      const attempts: number[] = [];
      for (let turn = 0; turn < scale.pick(3, 1); turn++) {
        const { cpuMs } = await burst(`quiet-${turn}`);
        const slow = await starved(() => burst(`slow-${turn}`));
        lasts.push(slow.lastMs / (cpuMs / (share * availableParallelism())));
        attempts.push(slow.attempts);
      }
      const baseline = "the CPU time that the grants take on the whole machine";
      return [
        {
          name: "reservation.starved",
          ...ofTurns(lasts.map(round)),
          unit: "ratio of the time until the last is granted on a tenth of the cores",
          target: "<= 3",
          baseline: `${baseline}, by a tenth of the cores`,
        },
        {
          name: "reservation.starved_attempts",
          ...ofTurns(attempts.map(round)),
          unit: "attempts of an activity a grant",
          target: "<= 1.2",
          baseline: "",
        },
      ];
    }),
};

interface Parts {
  readonly stack: Stack;
  readonly server: ServerProcess;
  readonly pids: readonly number[];
  readonly scale: Scale;
}

/** Reserves, and waits until all are granted, which are due at one instant. */
async function grantAtOnce({ stack, server, pids, scale }: Parts, name: string) {
  const count = scale.pick(40, 5);
  const executeTime = Math.ceil((Date.now() + scale.pick(30_000, 12_000)) / 1_000) * 1_000;
  const all = Array.from({ length: count }, (_, i) => ({
    id: `${name}-${i}`,
    userId: `${name}-${userName(i)}`,
    executeTime,
  }));
  await inParallel(4, all, (one) => reserve(server.channel, one));
  await sleep(executeTime - Date.now());
  const cpuBefore = await cpuSecondsOf(pids);
  const ids = all.map(({ id }) => id);
  const late = (await allDone(stack, ids, 120_000)).map(latenessOf);
  const cpuMs = ((await cpuSecondsOf(pids)) - cpuBefore) * 1_000;
  const attempts = (await attemptsOf(stack, ids)) / count;
  const lastMs = Math.max(...late);
  scale.note(
    `${name}: last ${lastMs} ms late, ${round(attempts)} attempts, CPU ${round(cpuMs)} ms`,
  );
  return { lastMs, cpuMs, attempts };
}

/** The attempts of all activities of the runs of these reservations. */
const attemptsOf = (stack: Stack, ids: readonly string[]): Promise<number> =>
  withTemporalClient(stack, async ({ workflow }) => {
    const attempts = await Promise.all(
      ids.map(async (id) => {
        const handle = workflow.getHandle(reservationWorkflowId(defaultProgramId, id));
        await handle.result();
        const { events } = await handle.fetchHistory();
        return sum(
          (events ?? []).map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 0),
        );
      }),
    );
    return sum(attempts);
  });
