/** Measures what hostile clients cost a good one: its p99 during each attack, over that alone. */
import { fight } from "../../test/support/hostile/attack.ts";
import { attacks } from "../../test/support/hostile/attacks.ts";
import { createGoodClient } from "../../test/support/hostile/good-client.ts";
import { startTarget } from "../../test/support/hostile/target.ts";
import type { Benchmark } from "../benchmark.ts";
import { median, ofTurns, percentile, type Turns } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

/** The worst attack's p99 of a client that reads balances, over its p99 right before. */
export const hostile: Benchmark = {
  names: ["hostile.p99", "hostile.p99.median"],
  run: (scale) =>
    withStack({}, async ({ dynamo }) => {
      const target = await startTarget(dynamo.endpoint);
      const client = createGoodClient(target, await target.tokenOf("good"));
      const ms = scale.pick(2_000, 500);
      const slowdowns: Turns[] = [];
      await client.callFor(ms);
      for (const attack of Object.keys(attacks)) {
        const turns: number[] = [];
        for (let turn = 0; turn < scale.pick(2, 1); turn++) {
          const alone = await client.callFor(ms);
          const { during } = await fight(target, client, attack, ms);
          const [failure] = [...alone.failures, ...during.failures];
          if (failure) throw new Error(`${attack}: ${failure}`);
          const p99 = (of: typeof alone) => percentile(of.latencies, 0.99);
          turns.push(p99(during) / p99(alone));
        }
        slowdowns.push(ofTurns(turns));
        scale.note(`${attack}: ${turns.map((turn) => turn.toFixed(2)).join(" ")}`);
      }
      client.close();
      await target.stop();
      const byValue = slowdowns.toSorted((a, b) => a.value - b.value);
      const result = {
        unit: "ratio of p99 latencies of a good client",
        baseline: "the same client on the same server right before the attack",
      };
      return [
        { name: "hostile.p99", ...(byValue.at(-1) as Turns), target: "<= 3", ...result },
        {
          name: "hostile.p99.median",
          value: median(byValue.map(({ value }) => value)),
          target: "",
          ...result,
        },
      ];
    }),
};
