/** Measures whether the cost of calls grows with the history of an account. */

import { asService } from "../../src/platform/words/caller.ts";
import { accountRef, entryRef } from "../../src/points/ports/records.ts";
import type { Account } from "../../src/points/rules/account.ts";
import { grant as decideGrant } from "../../src/points/rules/points.ts";
import type { Program } from "../../src/points/rules/program.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { balance, use } from "../support/calls.ts";
import { compare, compareUnits, growthResults } from "../support/compare.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import type { Channel } from "../support/rpc.ts";
import { type Seed, seed } from "../support/seed.ts";

const short = "short";
const long = "long";

/** The cost of a use and a balance on an account with a long history, over a short one. */
export const growth: Benchmark = {
  names: ["use.growth", "use.growth.units", "balance.growth", "balance.growth.units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const program = await stack.deps.programs.get("default");
      await seed(stack, history(program, short, 10));
      await seed(stack, history(program, long, scale.pick(100_000, 1_000)));
      const { channel } = await stack.startServer();
      return [
        ...(await grown(stack, scale, channel, "use", use)),
        ...(await grown(stack, scale, channel, "balance", balance)),
      ];
    }),
};

/** An account with so many grants of one point, and their entries. */
function* history(program: Program, userId: string, count: number): Generator<Seed> {
  let account: Account | undefined;
  for (let i = 0; i < count; i++) {
    const event = { origin: "c", eventId: `seed-${i}` } as const;
    const state = { program, userId, account, now: Date.now() };
    const change = decideGrant(state, { event, reason: "seed", caller: asService("bench") }, 1_000);
    ({ account } = change);
    yield {
      ref: entryRef(program.programId, userId, change.entry.number),
      value: change.entry,
      version: 1,
    };
  }
  if (account) yield { ref: accountRef(program.programId, userId), value: account, version: count };
}

async function grown(
  stack: MeteredStack,
  scale: Scale,
  channel: Channel,
  name: string,
  call: (channel: Channel, userId: string) => Promise<void>,
) {
  const rounds = { all: scale.pick(1_000, 50), first: scale.pick(300, 10) };
  const sides = [short, long] as const;
  const latency = await compare(scale, name, rounds, sides, async (user) => {
    const sent = performance.now();
    await call(channel, user);
    return performance.now() - sent;
  });
  const units = await compareUnits(sides, async (user) => {
    const { usage } = await stack.meter(() => call(channel, user));
    return usage.reads + usage.writes;
  });
  const baseline = "the same account with 10 ledger entries";
  return growthResults(`${name}.growth`, baseline, { latency, units });
}
