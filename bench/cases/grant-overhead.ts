/** Measures what the service adds to the transaction of a grant. */
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { type BareAccount, bareGrant } from "../baselines/bare-sdk-loop.ts";
import type { Benchmark } from "../benchmark.ts";
import { grant, userName } from "../support/calls.ts";
import { byTurns, load } from "../support/load.ts";
import { ratioByTurns } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

const callers = 64;

/** Grants on distinct warm accounts through gRPC, over the same transactions by the bare SDK. */
export const grantOverhead: Benchmark = {
  names: ["grant.overhead"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const server = await stack.startServer();
      const times = { warmMs: scale.pick(1_000, 500), ms: scale.pick(3_000, 1_000) };
      const table = tableName(stack.config.tablePrefix);
      const bare = Array.from(
        { length: callers },
        (_, i): BareAccount => ({ user: `bare-${userName(i)}`, version: 0 }),
      );
      const ours = () =>
        load({ ...times, callers, call: (i) => grant(server.channel, userName(i)) });
      const theirs = () =>
        load({
          ...times,
          callers,
          call: (i) => bareGrant(stack.clients.single, table, bare[i] as BareAccount),
        });
      // The first seconds are not measured, because the emulator's compiler is still at work.
      await byTurns(scale.pick(1, 0), ours, theirs);
      const { a, b } = await byTurns(scale.pick(6, 1), ours, theirs);
      const rates = (loads: typeof a) => loads.map(({ rate }) => rate);
      scale.note(
        `ours ${rates(a).map(Math.round)}/s, bare ${rates(b).map(Math.round)}/s, ` +
          `errors ${[...a, ...b].map(({ errors }) => errors)}`,
      );
      return [
        {
          name: "grant.overhead",
          ...ratioByTurns(rates(a), rates(b)),
          unit: "ratio of rates",
          target: ">= 0.75",
          baseline: "bare-sdk-loop: the same transactions, sent by the SDK alone",
        },
      ];
    }),
};
