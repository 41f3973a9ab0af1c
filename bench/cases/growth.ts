import { accountRef, entryRef } from "../../src/app/ports.ts";
import type { Account } from "../../src/domain/account.ts";
import { grant as decideGrant } from "../../src/domain/points.ts";
import type { Program } from "../../src/domain/program.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { balance, use } from "../support/calls.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import { median, round } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import { type Seed, seed } from "../support/seed.ts";

const short = "short";
const long = "long";

/** What a use and a balance cost on an account with a long history, over one with a short one. */
export const growth: Benchmark = {
  names: ["use.growth", "use.growth.units", "balance.growth", "balance.growth.units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const program = await stack.deps.programs.get("default");
      await seed(stack, history(program, short, 10));
      await seed(stack, history(program, long, scale.pick(100_000, 1_000)));
      const { channel } = await stack.startServer();
      return [
        ...(await compare(stack, scale, channel, "use", use)),
        ...(await compare(stack, scale, channel, "balance", balance)),
      ];
    }),
};

/** An account that has been granted a point so many times, entries and all. */
function* history(program: Program, user: string, count: number): Generator<Seed> {
  let account: Account | undefined;
  for (let i = 0; i < count; i++) {
    const event = { origin: "c", id: `seed-${i}` } as const;
    const scene = { program, user, account, now: Date.now() };
    const change = decideGrant(scene, { event, reason: "seed", caller: "bench" }, 1_000);
    ({ account } = change);
    yield { ref: entryRef(program.id, user, change.entry.number), value: change.entry, version: 1 };
  }
  if (account) yield { ref: accountRef(program.id, user), value: account, version: count };
}

async function compare(
  stack: MeteredStack,
  scale: Scale,
  channel: Channel,
  name: string,
  call: (channel: Channel, user: string) => Promise<void>,
) {
  const times: Record<string, number[]> = { [short]: [], [long]: [] };
  for (let n = 0; n < scale.pick(1_500, 50); n++) {
    for (const user of n % 2 === 0 ? [short, long] : [long, short]) {
      const sent = performance.now();
      await call(channel, user);
      times[user]?.push(performance.now() - sent);
    }
  }
  const middle = (user: string) => median((times[user] ?? []).slice(scale.pick(500, 10)));
  scale.note(`${name}: ${middle(short).toFixed(2)} ms short, ${middle(long).toFixed(2)} ms long`);
  const { usage: ofShort } = await stack.meter(() => call(channel, short));
  const { usage: ofLong } = await stack.meter(() => call(channel, long));
  const unitsOf = (usage: typeof ofShort) => usage.reads + usage.writes;
  const baseline = "the same account with 10 ledger entries";
  return [
    {
      name: `${name}.growth`,
      value: round(middle(long) / middle(short)),
      unit: "ratio of median latencies",
      target: "<= 1.1",
      baseline,
    },
    {
      name: `${name}.growth.units`,
      value: round(unitsOf(ofLong) / unitsOf(ofShort)),
      unit: "ratio of capacity units",
      target: "<= 1.1",
      baseline,
    },
  ];
}
