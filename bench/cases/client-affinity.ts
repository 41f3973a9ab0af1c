/** Measures calls on one key by clients of several servers, which send them to one of these. */
import { createMeguri, type Meguri } from "@meguri/client";
import type { Benchmark } from "../benchmark.ts";
import { callers, times } from "../support/conflicts.ts";
import { commentOf, displayName, newPerson, register } from "../support/likes.ts";
import { byTurns, type Load, load } from "../support/load.ts";
import { percentile, ratioByTurns } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import { type Stack, withStack } from "../support/stack.ts";

const processes = 4;

/** One call on the key. */
type Call = (client: Meguri) => Promise<unknown>;

const run = Date.now().toString(36);
let events = 0;

/** Grants on one account. */
export const grantAffinity = affinityOf("grant.hot.affinity", async () => (client) => {
  const eventId = `affinity-${run}-${String(++events).padStart(9, "0")}`;
  return client.points.grantPoints({ userId: "hot", eventId, points: 5n, reason: "bench" });
});

/** Likes of one comment. */
export const likeAffinity = affinityOf("like.hot.affinity", async (stack) => {
  const comment = commentOf(1);
  await register(stack, comment);
  const { target } = comment;
  return (client) =>
    client.reactions.react({ targetName: target, userId: newPerson(), displayName });
});

/** As many clients as servers, over the same clients that know one server only. */
function affinityOf(name: string, prepare: (stack: Stack) => Promise<Call>): Benchmark {
  return {
    names: [name],
    run: (scale) =>
      withStack({}, async (stack) => {
        const call = await prepare(stack);
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
            return () =>
              load({
                ...times(scale),
                callers,
                call: (caller) => call(ours[caller % processes] as Meguri),
              });
          };
          const all = loadOf(urls);
          const one = loadOf(urls.slice(0, 1));
          const { a, b } = await byTurns(scale.pick(5, 1), all, one);
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
              name,
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
}
