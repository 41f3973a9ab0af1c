/** Measures the read units of a balance of the past, in a short and in a long ledger. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { accountRef, entryRef } from "../../src/points/ports/records.ts";
import type { Account } from "../../src/points/rules/account.ts";
import { withSnapshot } from "../../src/points/rules/past.ts";
import { grant } from "../../src/points/rules/points.ts";
import type { Program } from "../../src/points/rules/program.ts";
import type { Benchmark } from "../benchmark.ts";
import { withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";
import { type Seed, seed } from "../support/seed.ts";

const calls = 20;
const few = 1_000;
const minuteMs = 60_000;

/** A balance as of instants that are spread over the ledger. */
export const asOf: Benchmark = {
  names: ["as_of.read_units.short", "as_of.read_units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const program = await stack.deps.programs.get("default");
      const { channel } = await stack.startServer();
      const start = Date.now() - 100_000 * minuteMs;
      const unitsOf = async (count: number) => {
        const userId = `user-${count}`;
        await seed(stack, history(program, userId, start, count));
        const { usage } = await stack.meter(async () => {
          for (let i = 0; i < calls; i++) {
            const time = start + Math.floor(((i + 0.5) / calls) * count) * minuteMs;
            const request = { userId, asOf: timestampFromMs(time) };
            await channel.send(PointsService.method.getBalance, request);
          }
        });
        return round(usage.reads / calls);
      };
      const common = { unit: "read units a call", baseline: "", counted: true } as const;
      return [
        { name: "as_of.read_units.short", value: await unitsOf(few), target: "", ...common },
        {
          name: "as_of.read_units",
          value: await unitsOf(scale.pick(100_000, 2 * few)),
          target: "<= 20",
          ...common,
        },
      ];
    }),
};

/** An account with so many grants of one point, a minute apart, each in an item of its own. */
function* history(program: Program, userId: string, start: number, count: number): Generator<Seed> {
  let account: Account | undefined;
  for (let i = 0; i < count; i++) {
    const event = { origin: "c", eventId: `seed-${i}` } as const;
    const state = { program, userId, account, now: start + i * minuteMs };
    const change = grant(state, { event, reason: "seed", caller: asService("bench") }, 1);
    ({ account } = change);
    for (const value of withSnapshot(account, change.entries)) {
      yield { ref: entryRef(program.programId, userId, value.number), value, version: 1 };
    }
  }
  if (account) yield { ref: accountRef(program.programId, userId), value: account, version: count };
}
