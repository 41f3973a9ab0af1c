/** Counts what a month-end sweep reads and writes when no bound of the index is stale. */

import { compose } from "../../src/compose.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { monthAt, monthStart } from "../../src/platform/words/month.ts";
import { shardCount } from "../../src/points/ports/points.ts";
import { accountRef, entryRef, eventRef } from "../../src/points/ports/records.ts";
import { lifetimeAt } from "../../src/points/rules/account.ts";
import { grant } from "../../src/points/rules/points.ts";
import type { Program } from "../../src/points/rules/program.ts";
import { expireDueInShard } from "../../src/points/use-cases/expire-due.ts";
import type { Benchmark } from "../benchmark.ts";
import { userName } from "../support/calls.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";
import { type Seed, seed } from "../support/seed.ts";

/** One of so many accounts has points to expire. */
const dueEvery = 100;

/** Units of a month-end sweep for an account with points to expire. */
export const expiryReads: Benchmark = {
  names: [
    "expiry.account_reads",
    "expiry.read_units",
    "expiry.write_units",
    "expiry.read_unchanged",
  ],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const program = await stack.deps.programs.get("default");
      const accounts = scale.pick(20_000, 500);
      // The cost of a write depends on the item before it, so the meter has to see the seeds.
      const { proxy, config } = stack;
      const clients = createClients({ endpoint: proxy.endpoint, region: config.region });
      await stack.meter(() => seed({ ...stack, clients }, population(program, accounts)));
      clients.close();
      const due = accounts / dueEvery;
      let expired = 0;
      let unchanged = 0;
      const sweep = await withDeps(stack, (deps) =>
        stack.meter(async () => {
          for (let shard = 0; shard < shardCount; shard++) {
            const result = await expireDueInShard(
              deps,
              { programId: "default", shard },
              () => true,
            );
            expired += result.expired;
            unchanged += result.unchanged;
          }
        }),
      );
      if (expired !== due) throw new Error(`points expired in ${expired} accounts, not ${due}`);
      const accountReads = sweep.operations.GetItem ?? 0;
      const { reads, writes } = sweep.usage;
      scale.note(
        `${reads} read and ${writes} write units in ${sweep.requests} requests, due ${due}`,
      );
      return [
        {
          name: "expiry.account_reads",
          value: round(accountReads / due),
          unit: "reads a due account",
          target: "<= 1",
          baseline: "",
          counted: true,
        },
        {
          name: "expiry.read_units",
          value: round(reads / due),
          unit: "read units a due account, with the index",
          target: "<= 1.1",
          baseline: "",
          counted: true,
        },
        {
          name: "expiry.write_units",
          value: round(writes / due),
          unit: "write units a due account",
          target: "<= 5",
          baseline: "",
          counted: true,
        },
        {
          name: "expiry.read_unchanged",
          value: round(unchanged / (expired + unchanged)),
          unit: "of the accounts visited, when no bound is stale",
          target: "<= 0.1",
          baseline: "",
          counted: true,
        },
      ];
    }),
};

/** Runs `use` with use cases in this process whose requests are metered. */
async function withDeps<T>(stack: MeteredStack, use: (deps: Deps) => Promise<T>): Promise<T> {
  const config = { ...stack.config, dynamoEndpoint: stack.proxy.endpoint };
  const { deps, close } = compose(config, stack.deps.workflows, createLogger("bench", "silent"));
  try {
    await deps.programs.get("default");
    return await use(deps);
  } finally {
    await close();
  }
}

/** Accounts with one grant each, with entry and event key. One in a hundred is a lifetime old. */
function* population(program: Program, count: number): Generator<Seed> {
  const now = Date.now();
  const month = monthAt(program.timeZone, now);
  const lifetime = lifetimeAt(program, now);
  for (let i = 0; i < count; i++) {
    const userId = userName(i);
    const age = i % dueEvery === 0 ? lifetime : i % lifetime;
    const granted = Math.min(monthStart(program.timeZone, month - age) + 3_600_000, now);
    const event = { origin: "c", eventId: `seed-${i}` } as const;
    const state = { program, userId, account: undefined, now: granted };
    const { account, entry } = grant(
      state,
      { event, reason: "seed", caller: asService("bench") },
      500,
    );
    const hash = `1:${"h".repeat(43)}`;
    yield { ref: accountRef(program.programId, userId), value: account, version: 1 };
    yield { ref: entryRef(program.programId, userId, 1), value: entry, version: 1 };
    yield {
      ref: eventRef(program.programId, userId, `c:${event.eventId}`),
      value: { hash, entry, availablePoints: 500, reversedPoints: 0 },
      version: 1,
    };
  }
}
