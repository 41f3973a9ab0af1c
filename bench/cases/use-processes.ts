/** Measures uses on four processes whose calls share a few busy accounts. */
import type { Benchmark } from "../benchmark.ts";
import { grant, use, userName } from "../support/calls.ts";
import { inParallel, load } from "../support/load.ts";
import { withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";
import { lockMs } from "../support/proxy.ts";
import type { ServerProcess } from "../support/stack.ts";

const processes = 4;
const callers = 64;
const accounts = 256;

/**
 * Uses that are sent to four processes in turn, on accounts of which few are busy: the k-th account
 * gets 1/k as many calls as the first (Zipf). Items are locked as on AWS, and cancelled
 * transactions are billed.
 */
export const useProcesses: Benchmark = {
  names: ["use.write_units.4_processes"],
  run: (scale) =>
    withMeteredStack(async ({ startServer, meter, proxy }) => {
      const servers: ServerProcess[] = [];
      for (let i = 0; i < processes; i++) servers.push(await startServer());
      const userIds = Array.from({ length: accounts }, (_, i) => userName(i));
      const [first] = servers as [ServerProcess];
      await meter(() =>
        inParallel(8, userIds, (userId) => grant(first.channel, userId, 1_000_000n)),
      );
      const pick = zipf(userIds);
      let done = 0;
      proxy.lock(lockMs);
      const metered = await meter(async () => {
        await load({
          callers,
          warmMs: 0,
          ms: scale.pick(10_000, 1_500),
          async call(caller, n) {
            const { channel } = servers[(caller + n) % processes] as ServerProcess;
            await use(channel, pick());
            done += 1;
          },
        });
      });
      proxy.lock(0);
      const { usage, operations } = metered;
      const { lockConflicts } = proxy.stats();
      scale.note(`${done} uses, ${JSON.stringify(operations)}, ${lockConflicts} conflicts`);
      scale.note(`read units a use ${round(usage.reads / done)}`);
      return [
        {
          name: "use.write_units.4_processes",
          value: round(usage.writes / done),
          unit: "write units a call",
          target: "<= 7",
          baseline: "",
        },
      ];
    }),
};

/** Draws account k with a weight of 1/k, in the same order in every run. */
function zipf<T>(values: readonly T[]): () => T {
  const bounds: number[] = [];
  for (let i = 0; i < values.length; i++) bounds.push((bounds.at(-1) ?? 0) + 1 / (i + 1));
  const all = bounds.at(-1) ?? 0;
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const drawn = (state / 2 ** 32) * all;
    return values[bounds.findIndex((bound) => drawn < bound)] as T;
  };
}
