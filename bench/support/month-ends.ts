/** Seeds accounts whose points expire, and runs month ends over them. */

import { asService } from "../../src/platform/words/caller.ts";
import { monthAt, monthStart } from "../../src/platform/words/month.ts";
import { monthEndId } from "../../src/points/contract/month-ends.ts";
import { shardCount } from "../../src/points/contract/points.ts";
import { accountRef, entryRef, programRef } from "../../src/points/ports/records.ts";
import { type Account, expiredMonth, lifetimeAt } from "../../src/points/rules/account.ts";
import { grant } from "../../src/points/rules/points.ts";
import type { Program } from "../../src/points/rules/program.ts";
import { usersOfShard } from "../../test/support/fixtures/shards.ts";
import { type Seed, seed } from "./seed.ts";
import type { Stack } from "./stack.ts";
import { withTemporalClient } from "./temporal-client.ts";

/** Writes a new program with so many accounts in each shard, all of them due. */
export async function seedMonthEnd(
  stack: Stack,
  programId: string,
  perShard: number,
): Promise<void> {
  const program = await stack.deps.programs.get("default");
  await seed(stack, dueAccounts({ ...program, programId }, perShard));
}

/** Runs the month end of a program. */
export async function runMonthEnd(stack: Stack, programId: string): Promise<void> {
  await withTemporalClient(stack, ({ workflow }) =>
    workflow.execute("monthEnd", {
      workflowId: monthEndId(programId),
      taskQueue: stack.config.taskQueue,
      args: [{ program_id: programId }],
    }),
  );
}

/** Throws an error when an account is still due: counts of a run miss what it had to repeat. */
export async function expectNoneDue({ deps }: Stack, programId: string): Promise<void> {
  const month = expiredMonth(await deps.programs.get(programId), Date.now());
  for (let shard = 0; shard < shardCount; shard++) {
    const page = { size: 1, cursor: undefined };
    const { items } = await deps.reader.dueAccounts(programId, shard, month, page);
    if (items.length > 0) throw new Error(`${items[0]?.userId} of ${programId} has not expired`);
  }
}

/** A program, and accounts some of whose points have expired, as many in each shard. */
function* dueAccounts(program: Program, perShard: number): Generator<Seed> {
  const { programId, timeZone } = program;
  yield { ref: programRef(programId), value: program, version: 1 };
  const now = Date.now();
  const month = monthAt(timeZone, now) - lifetimeAt(program, now);
  // What is granted in the second month stays, so the account stays in the index.
  const times = [month, month + 1].map((each) => monthStart(timeZone, each) + 3_600_000);
  const shards = Array.from({ length: shardCount }, (_, shard) => shard);
  for (const userId of shards.flatMap((shard) => usersOfShard(shard, perShard))) {
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
