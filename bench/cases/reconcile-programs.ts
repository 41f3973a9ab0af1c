/** Measures what sweeps and passes do about many programs that have nothing due. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Program } from "../../src/points/rules/program.ts";
import { readAllPrograms } from "../../src/points/use-cases/programs/queries.ts";
import { restoreDueHours } from "../../src/reservations/use-cases/due-programs.ts";
import { executeOverdue } from "../../src/reservations/use-cases/overdue.ts";
import type { Benchmark } from "../benchmark.ts";
import { byTurns } from "../support/load.ts";
import { ratioByTurns, round } from "../support/numbers.ts";
import { type Stack, withStack } from "../support/stack.ts";

/** How long a read travels to DynamoDB and back. The emulator is on the same machine. */
const networkMs = 3;

const observers = { onDone: () => {}, onFailed: () => {} };

/** A sweep and a pass over 200 programs, over those over a single program. */
export const reconcilePrograms: Benchmark = {
  names: ["reconcile.programs"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const ofOne = () => pass(stack, 1);
      const ofMany = () => pass(stack, scale.pick(200, 4));
      await ofMany();
      const { a, b } = await byTurns(scale.pick(5, 1), ofOne, ofMany);
      scale.note(`one program: ${a.map(round)} ms, 200: ${b.map(round)} ms`);
      return [
        {
          name: "reconcile.programs",
          ...ratioByTurns(b, a),
          unit: `ratio of times of a pass in one worker, reads ${networkMs} ms away`,
          target: "<= 3",
          baseline: "a pass over one program",
        },
      ];
    }),
};

/** Returns the time of a sweep and of what a pass does about programs, in ms. */
async function pass({ deps }: Stack, programs: number): Promise<number> {
  const [program] = (await deps.reader.programs({ size: 1, cursor: undefined })).items;
  const named = (_: unknown, i: number) => ({ ...program, programId: `many-${i}` }) as Program;
  const items = Array.from({ length: programs }, named);
  const later = <A extends unknown[], R>(read: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      await sleep(networkMs);
      return read(...args);
    };
  };
  const reader: typeof deps.reader = {
    ...deps.reader,
    programs: later(async () => ({ items })),
    dueHours: later(deps.reader.dueHours),
    pendingInShard: later(deps.reader.pendingInShard),
    heldInShard: later(deps.reader.heldInShard),
  };
  const start = performance.now();
  await executeOverdue({ ...deps, reader }, observers);
  await restoreDueHours({ ...deps, reader }, await readAllPrograms({ reader }), observers.onFailed);
  return performance.now() - start;
}
