/** Measures a pass of the reconciler over many programs that have nothing overdue. */
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import type { Program } from "../../src/domain/program.ts";
import type { Benchmark } from "../benchmark.ts";
import { byTurns } from "../support/load.ts";
import { median, ratioByTurns, round } from "../support/numbers.ts";
import { executeAllOverdue } from "../support/passes.ts";
import { type Stack, withStack } from "../support/stack.ts";

/** How long a read travels to DynamoDB and back. The emulator is on the same machine. */
const networkMs = 3;

/** A pass that reads 16 shards at once, over one that reads them one after another. */
export const reconcilePrograms: Benchmark = {
  names: ["reconcile.programs"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const programs = scale.pick(50, 2);
      const ofOne = () => pass(stack, programs, 1);
      const ofMany = () => pass(stack, programs, Number.POSITIVE_INFINITY);
      await ofMany();
      const { a, b } = await byTurns(scale.pick(5, 1), ofOne, ofMany);
      scale.note(
        `${programs} programs: ${median(a).toFixed(0)} ms, ${median(b).toFixed(0)} ms at once`,
      );
      return [
        {
          name: "reconcile.programs",
          ...ratioByTurns(b, a),
          unit: `ratio of times of a pass over ${programs} programs, reads ${networkMs} ms away`,
          target: "<= 0.5",
          baseline: "the same pass, one shard after another",
        },
      ];
    }),
};

/** A pass over 200 programs, over one over a single program. */
export const reconcilePrograms200: Benchmark = {
  names: ["reconcile.programs_200", "reconcile.programs_200.one_by_one"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const ofOne = async () => ({
        atOnce: await pass(stack, 1, Number.POSITIVE_INFINITY),
        oneByOne: await pass(stack, 1, 1),
      });
      const ofMany = () => pass(stack, scale.pick(200, 4), Number.POSITIVE_INFINITY);
      await ofMany();
      const { a, b } = await byTurns(scale.pick(5, 1), ofOne, ofMany);
      const [atOnce, oneByOne] = [a.map((each) => each.atOnce), a.map((each) => each.oneByOne)];
      scale.note(
        `one program: ${atOnce.map(round)} ms, one by one ${oneByOne.map(round)} ms, ` +
          `200: ${b.map(round)} ms`,
      );
      const unit = `ratio of times of a pass in one worker, reads ${networkMs} ms away`;
      return [
        {
          name: "reconcile.programs_200",
          ...ratioByTurns(b, atOnce),
          unit,
          target: "<= 15",
          baseline: "a pass over one program",
        },
        {
          name: "reconcile.programs_200.one_by_one",
          ...ratioByTurns(b, oneByOne),
          unit,
          target: "<= 15",
          baseline: "a pass over one program that reads one shard after another, as before",
        },
      ];
    }),
};

/** Returns the time of a pass in ms, of which at most `width` reads of shards run at once. */
async function pass({ deps }: Stack, programs: number, width: number): Promise<number> {
  const [program] = (await deps.reader.programs({ size: 1, cursor: undefined })).items;
  const named = (_: unknown, i: number) => ({ ...program, programId: `many-${i}` }) as Program;
  const items = Array.from({ length: programs }, named);
  const { reservationsInShard } = deps.reader;
  const limit = pLimit(width);
  const reader: typeof deps.reader = {
    ...deps.reader,
    programs: async () => ({ items }),
    reservationsInShard: (...args) =>
      limit(async () => {
        await sleep(networkMs);
        return reservationsInShard(...args);
      }),
  };
  const start = performance.now();
  await executeAllOverdue({ ...deps, reader });
  return performance.now() - start;
}
