/** Measures the capacity units and requests of calls to points. */
import { setTimeout as sleep } from "node:timers/promises";
import { formatMonth, monthAt } from "../../src/platform/words/month.ts";
import { defaultTimeZone } from "../../src/points/rules/program.ts";
import type { Benchmark, Result } from "../benchmark.ts";
import { balance, grant, grantUntil, use, userName } from "../support/calls.ts";
import { inParallel } from "../support/load.ts";
import type { Metered } from "../support/metered.ts";
import { withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";

const calls = 20;

/** The number of concurrent callers on one account, the same as in `grant.hot`. */
const hotCalls = 640;
const hotCallers = 64;

/** Longer than a process keeps records that it has committed. */
const coldMs = 1_500;

/** The cost of single calls in capacity units and in requests to the store. */
export const units: Benchmark = {
  names: [
    "grant.write_units",
    "grant.write_units.first",
    "grant.write_units.expire_month",
    "grant.write_units.expire_month.oldest",
    "grant.write_units.hot",
    "grant.round_trips",
    "grant.round_trips.cold",
    "use.write_units",
    "use.round_trips",
    "use.round_trips.cold",
    "balance.read_units",
  ],
  run: (scale) =>
    withMeteredStack(async ({ startServer, meter }) => {
      const { channel } = await startServer();
      const userIds = Array.from({ length: calls }, (_, i) => userName(i));
      // The server reads the program into its cache.
      await meter(() => balance(channel, userName(calls)));
      const each = (call: (userId: string) => Promise<void>) =>
        meter(() => inParallel(1, userIds, call));
      const first = await each((userId) => grant(channel, userId));
      const busyGrant = await each((userId) => grant(channel, userId));
      const busyUse = await each((userId) => use(channel, userId));
      const nextMonth = formatMonth(monthAt(defaultTimeZone, Date.now()) + 1);
      const oldest = await each((userId) => grantUntil(channel, userId, nextMonth));
      const early = await each((userId) => grantUntil(channel, userId, nextMonth));
      const oneUser = Array<string>(hotCalls).fill(userName(0));
      const hot = await meter(() =>
        inParallel(hotCallers, oneUser, (userId) => grant(channel, userId)),
      );
      await sleep(coldMs);
      const coldGrant = await each((userId) => grant(channel, userId));
      await sleep(coldMs);
      const coldUse = await each((userId) => use(channel, userId));
      const reads = await each((userId) => balance(channel, userId));
      scale.note(`cold use: ${JSON.stringify(coldUse)}`);
      return [
        count("grant.write_units", busyGrant.usage.writes, "write units", "<= 6"),
        count("grant.write_units.first", first.usage.writes, "write units", "<= 7"),
        count("grant.write_units.expire_month", early.usage.writes, "write units", "<= 6"),
        count("grant.write_units.expire_month.oldest", oldest.usage.writes, "write units", "<= 7"),
        {
          name: "grant.write_units.hot",
          value: round(hot.usage.writes / hotCalls),
          unit: "write units a call",
          target: "",
          baseline: "",
        },
        trips("grant.round_trips", busyGrant, "<= 1"),
        trips("grant.round_trips.cold", coldGrant, "<= 2"),
        count("use.write_units", busyUse.usage.writes, "write units", "<= 6"),
        trips("use.round_trips", busyUse, "<= 1"),
        trips("use.round_trips.cold", coldUse, "<= 2"),
        count("balance.read_units", reads.usage.reads, "read units", "<= 1"),
      ];
    }),
};

const trips = (name: string, { requests }: Metered, target: string) =>
  count(name, requests, "requests to the store", target);

const count = (name: string, total: number, unit: string, target: string): Result => ({
  name,
  value: round(total / calls),
  unit: `${unit} a call`,
  target,
  baseline: "",
  counted: true,
});
