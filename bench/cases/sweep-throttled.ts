/** Measures how much longer a pass of the reconciler takes when an account is throttled. */
import { reservationRef } from "../../src/app/ports/records.ts";
import { asService } from "../../src/domain/caller.ts";
import { createDynamoItemStore } from "../../src/store/dynamodb/item-store.ts";
import { tableName } from "../../src/store/dynamodb/tables.ts";
import { CommitEngine } from "../../src/store/engine/engine.ts";
import type { ItemStore } from "../../src/store/engine/item-store.ts";
import type { Benchmark } from "../benchmark.ts";
import { median, ratioByTurns } from "../support/numbers.ts";
import { executeAllOverdue } from "../support/passes.ts";
import { type Seed, seed } from "../support/seed.ts";
import { type Stack, withStack } from "../support/stack.ts";

const overdue = 100;

/** Passes over 100 overdue reservations of as many accounts, with one throttled and with none. */
export const sweepThrottled: Benchmark = {
  names: ["sweep.throttled"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const passes = createPasses(stack);
      const [free, throttled]: [number[], number[]] = [[], []];
      await passes.run("warm", false);
      for (let turn = 0; turn < scale.pick(9, 1); turn++) {
        free.push(await passes.run(`free-${turn}`, false));
        throttled.push(await passes.run(`throttled-${turn}`, true));
      }
      const [without, of] = [median(free), median(throttled)];
      scale.note(`a pass took ${without.toFixed(0)} ms, ${of.toFixed(0)} ms with one throttled`);
      return [
        {
          name: "sweep.throttled",
          ...ratioByTurns(throttled, free),
          unit: `ratio of times of a pass, 1 of ${overdue} records throttled all the time`,
          target: "<= 1.5",
          baseline: "the same pass without throttling",
        },
      ];
    }),
};

function createPasses(stack: Stack) {
  const store = createDynamoItemStore(stack.clients.single, tableName(stack.config.tablePrefix));
  let hot: string | undefined;
  const throttling: ItemStore = {
    ...store,
    commit(writes, token) {
      const isHot = writes.some(({ ref }) => ref.kind === "account" && ref.id === hot);
      return isHot ? Promise.resolve({ kind: "throttled" }) : store.commit(writes, token);
    },
  };
  const engine = new CommitEngine({ store: throttling, clock: stack.deps.clock });
  const deps = { ...stack.deps, engine };
  const execute = () => executeAllOverdue(deps);
  return {
    /** Returns the time of a pass in ms, and grants what it has left. */
    async run(name: string, isThrottled: boolean): Promise<number> {
      await seed(stack, reservations(name));
      hot = isThrottled ? `default#${name}-0` : undefined;
      const start = performance.now();
      const { granted, failed } = await execute();
      const took = performance.now() - start;
      const expected = isThrottled ? 1 : 0;
      if (failed !== expected || granted !== overdue - expected) {
        throw new Error(`${granted} reservations were granted, ${failed} have failed`);
      }
      hot = undefined;
      // The queue of the account may still wait after its last throttled request.
      for (let left = failed; left > 0; ) left -= (await execute()).granted;
      return took;
    },
  };
}

function* reservations(name: string): Generator<Seed<"reservation">> {
  const time = Date.now() - 60_000;
  for (let i = 0; i < overdue; i++) {
    const id = `${name}-${i}`;
    const value = {
      programId: "default",
      reservationId: id,
      userId: id,
      points: 10,
      reason: "bench",
      creator: asService("bench"),
      hash: "1:h",
      executeTime: time,
      state: "PENDING",
      createTime: time,
      updateTime: time,
    } as const;
    yield { ref: reservationRef("default", id), value, version: 1 };
  }
}
