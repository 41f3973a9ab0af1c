/** Measures grants on one account by clients of several servers, which choose the same one. */
import { createMeguri, type Meguri } from "@meguri/client";
import type { Benchmark } from "../benchmark.ts";
import { callers, times } from "../support/conflicts.ts";
import { byTurns, type Load, load } from "../support/load.ts";
import { percentile, ratioByTurns } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import { withStack } from "../support/stack.ts";

const processes = 4;

const run = Date.now().toString(36);
let events = 0;

const grant = (client: Meguri) => {
  const eventId = `affinity-${run}-${String(++events).padStart(9, "0")}`;
  return client.points.grantPoints({ userId: "hot", eventId, points: 5n, reason: "bench" });
};

/** As many clients as servers, over the same clients that know one server only. */
export const grantAffinity: Benchmark = {
  names: ["grant.hot.affinity"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const proxy = await startLockingProxy(stack.dynamo.endpoint);
      const clients: Meguri[] = [];
      try {
        const urls: string[] = [];
        for (let i = 0; i < processes; i++) {
          const { port } = await stack.startServer({ dynamoEndpoint: proxy.endpoint });
          urls.push(`http://127.0.0.1:${port}`);
        }
        const loadOf = (known: readonly string[]) => {
          const ours = urls.map(() => createMeguri({ url: known, caller: "bench" }));
          clients.push(...ours);
          const call = (caller: number) => grant(ours[caller % processes] as Meguri);
          return () => load({ ...times(scale), callers, call });
        };
        const all = loadOf(urls);
        const one = loadOf(urls.slice(0, 1));
        const { a, b } = await byTurns(scale.pick(3, 1), all, one);
        const format = (loads: readonly Load[]) =>
          loads
            .map(
              ({ rate, latencies, errors }) =>
                `${rate.toFixed(0)}/s p99 ${percentile(latencies, 0.99).toFixed(0)} ms ` +
                `errors ${errors}`,
            )
            .join(", ");
        scale.note(`${processes} servers: ${format(a)}; one: ${format(b)}`);
        const rates = (loads: readonly Load[]) => loads.map(({ rate }) => rate);
        return [
          {
            name: "grant.hot.affinity",
            ...ratioByTurns(rates(a), rates(b)),
            unit: "ratio of rates",
            target: ">= 0.9",
            baseline: "the same clients and callers on one server",
          },
        ];
      } finally {
        for (const client of clients) client.close();
        await proxy.stop();
      }
    }),
};
