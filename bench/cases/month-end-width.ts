/** Measures how long a month end takes when its index partitions or its workers limit it. */
import { Client, Connection } from "@temporalio/client";
import { accountRef, entryRef, programRef } from "../../src/app/ports/records.ts";
import { type MonthEndResult, monthEndId } from "../../src/contract/month-ends.ts";
import { shardCount } from "../../src/contract/points.ts";
import type { Account } from "../../src/domain/account.ts";
import { asService } from "../../src/domain/caller.ts";
import { monthAt, monthStart } from "../../src/domain/month.ts";
import { grant } from "../../src/domain/points.ts";
import { lifetimeAt, type Program } from "../../src/domain/program.ts";
import { usersOfShard } from "../../test/support/fixtures/shards.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { byTurns } from "../support/load.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import { ratioByTurns, round } from "../support/numbers.ts";
import { type Seed, seed } from "../support/seed.ts";
import { previousVersion } from "../support/stack.ts";

/** As many as the emulator can take from 16 partitions. AWS takes 500 transactions a second. */
const perSecond = 12;

/** So slow that the 64 accounts that a worker expires at a time limit it, and not the emulator. */
const writeMs = 1_500;

/** The rate of 16 shards at once over that of 4 at a time: 4, less what a run takes besides. */
export const monthEndPartitions: Benchmark = {
  names: ["month_end.partitions"],
  run: (scale) =>
    withMonthEnds(120, async (present) =>
      withMonthEnds(120, async (previous) => {
        const version = await previousVersion();
        for (const { stack } of [present, previous]) {
          stack.proxy.limitPartitions({ attribute: "xp", perSecond });
        }
        await present.stack.startWorker();
        await previous.stack.startWorker({ version });
        await present.run(scale, "warm");
        await previous.run(scale, "warm");
        const { a, b } = await byTurns(
          scale.pick(2, 1),
          (turn) => present.run(scale, `turn-${turn}`),
          (turn) => previous.run(scale, `turn-${turn}`),
        );
        const ratio = ratioByTurns(b, a);
        scale.note(`now ${a.map(round)} s, before ${b.map(round)} s, ratios ${ratio.turns}`);
        return [
          {
            name: "month_end.partitions",
            ...ratio,
            unit: `ratio of accounts a second, ${perSecond} changes a second for each partition`,
            target: ">= 4",
            baseline: "the previous version",
          },
        ];
      }),
    ),
};

/** The rate of two workers over that of one. */
export const monthEndWorkers: Benchmark = {
  names: ["month_end.workers"],
  run: (scale) =>
    withMonthEnds(60, async ({ stack, run }) => {
      stack.proxy.faults({
        delay: 1,
        delayMs: [writeMs, writeMs],
        operations: ["TransactWriteItems"],
      });
      await stack.startWorker();
      await run(scale, "warm");
      let second: Awaited<ReturnType<typeof stack.startWorker>> | undefined;
      const { a, b } = await byTurns(
        scale.pick(3, 1),
        async (turn) => {
          await second?.stop();
          second = undefined;
          return run(scale, `one-${turn}`);
        },
        async (turn) => {
          second ??= await stack.startWorker();
          return run(scale, `two-${turn}`);
        },
      );
      scale.note(`one worker ${a.map(round)} s, two ${b.map(round)} s`);
      return [
        {
          name: "month_end.workers",
          ...ratioByTurns(a, b),
          unit: `ratio of accounts a second, writes ${writeMs} ms away`,
          target: ">= 1.7",
          baseline: "one worker",
        },
      ];
    }),
};

interface MonthEnds {
  readonly stack: MeteredStack;
  /** Runs the month end of a new program. Returns its time in seconds. */
  run(scale: Scale, name: string): Promise<number>;
}

/** Month ends of programs with so many due accounts in each shard. */
function withMonthEnds<T>(
  perShard: number,
  use: (monthEnds: MonthEnds) => Promise<T>,
): Promise<T> {
  return withMeteredStack(
    async (stack) => {
      const connection = await Connection.connect({ address: stack.config.temporalAddress });
      const client = new Client({ connection, namespace: stack.config.temporalNamespace });
      const program = await stack.deps.programs.get("default");
      const run = async (scale: Scale, programId: string) => {
        const count = shardCount * scale.pick(perShard, 4);
        await seed(stack, dueAccounts({ ...program, programId }, count));
        const start = performance.now();
        const result: MonthEndResult = await client.workflow.execute("monthEnd", {
          workflowId: monthEndId(programId),
          taskQueue: stack.config.taskQueue,
          args: [{ program_id: programId }],
        });
        // What was expired by a write without an answer in time is found unchanged.
        const { expired, unchanged } = result;
        if (expired + unchanged < count) throw new Error(`expired ${expired} of ${count}`);
        return (performance.now() - start) / 1_000;
      };
      try {
        return await use({ stack, run });
      } finally {
        await connection.close();
      }
    },
    { temporal: true },
  );
}

/** A program, and accounts some of whose points have expired, as many in each shard. */
function* dueAccounts(program: Program, count: number): Generator<Seed> {
  const { programId, timeZone } = program;
  yield { ref: programRef(programId), value: program, version: 1 };
  const now = Date.now();
  const month = monthAt(timeZone, now) - lifetimeAt(program, now);
  // What is granted in the second month stays, so the account stays in the index.
  const times = [month, month + 1].map((each) => monthStart(timeZone, each) + 3_600_000);
  const shards = Array.from({ length: shardCount }, (_, shard) => shard);
  for (const userId of shards.flatMap((shard) => usersOfShard(shard, count / shardCount))) {
    const request = { reason: "seed", caller: asService("bench") };
    let account: Account | undefined;
    for (const [n, time] of times.entries()) {
      const event = { origin: "c", eventId: `seed-${n}` } as const;
      const state = { program, userId, account, now: time };
      const change = grant(state, { ...request, event }, 500);
      ({ account } = change);
      yield { ref: entryRef(programId, userId, n + 1), value: change.entry, version: 1 };
    }
    if (account) yield { ref: accountRef(programId, userId), value: account, version: 2 };
  }
}
