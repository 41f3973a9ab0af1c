/** Measures what a month-end sweep reads when no bound of the index is stale. */
import { ScanCommand, type ScanCommandInput } from "@aws-sdk/client-dynamodb";
import { expireDueInShard } from "../../src/app/points/expire-due.ts";
import type { Deps } from "../../src/app/ports/deps.ts";
import { shardCount } from "../../src/app/ports/points.ts";
import { accountRef, entryRef, eventRef } from "../../src/app/ports/records.ts";
import { compose } from "../../src/compose.ts";
import { asService } from "../../src/domain/caller.ts";
import { monthAt, monthStart } from "../../src/domain/month.ts";
import { grant } from "../../src/domain/points.ts";
import { lifetimeAt, type Program } from "../../src/domain/program.ts";
import { createLogger } from "../../src/log.ts";
import { createClients } from "../../src/store/dynamodb/sdk/client.ts";
import type { Benchmark } from "../benchmark.ts";
import { userName } from "../support/calls.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";
import { type Seed, seed } from "../support/seed.ts";

/** One of so many accounts has points to expire. */
const dueEvery = 100;

/** Reads of a month-end sweep, over a scan of all accounts. */
export const expiryReads: Benchmark = {
  names: ["expiry.index_reads", "expiry.account_reads", "expiry.read_unchanged"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const program = await stack.deps.programs.get("default");
      const accounts = scale.pick(20_000, 500);
      await seed(stack, population(program, accounts));
      const due = accounts / dueEvery;
      const scan = await stack.meter(() => scanAll(stack));
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
      // A read of an account costs 1 unit; the remaining units are reads of the index.
      const indexReads = sweep.usage.reads - accountReads;
      scale.note(
        `scan ${scan.usage.reads} units in ${scan.requests} requests, index ${indexReads} in ` +
          `${sweep.operations.Query}, ${accountReads} accounts read, ${expired} changed`,
      );
      const baseline = "a scan of the table, eventually consistent";
      return [
        {
          name: "expiry.index_reads",
          value: round(indexReads / scan.usage.reads),
          unit: "ratio of read units",
          target: "<= 0.01",
          baseline,
          counted: true,
        },
        {
          name: "expiry.account_reads",
          value: round(accountReads / due),
          unit: "reads a due account",
          target: "<= 1",
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

/** Scans in pages that the emulator answers in time. Rounding adds less than a thousandth. */
async function scanAll({ config, proxy }: MeteredStack): Promise<void> {
  const through = createClients({ endpoint: proxy.endpoint, region: config.region });
  const TableName = `${config.tablePrefix}points`;
  let next: ScanCommandInput["ExclusiveStartKey"];
  do {
    const page = { TableName, Limit: 2_000, ...(next && { ExclusiveStartKey: next }) };
    ({ LastEvaluatedKey: next } = await through.retrying.send(new ScanCommand(page)));
  } while (next);
  through.close();
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
