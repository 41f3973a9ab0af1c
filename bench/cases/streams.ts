/** Measures what 10,000 open streams of unread counts take, and what calls beside them notice. */
import { setTimeout as sleep } from "node:timers/promises";
import { rawWatches } from "../../test/support/servers/raw-watches.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { startArrivals } from "../support/arrivals.ts";
import { balance, userName } from "../support/calls.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { byTurns } from "../support/load.ts";
import { residentKb } from "../support/memory.ts";
import { median, percentile, ratioByTurns, round } from "../support/numbers.ts";
import { type ServerProcess, withStack } from "../support/stack.ts";
import { ownerIds, places } from "../support/watches.ts";

/** The collections of the server take about a second. */
const collectionMs = 3_000;

/** The streams of an owner without news are polled more often in their first minute. */
const quietAfterMs = 60_000;

const balancesPerSecond = 20;

/**
 * What each of 10,000 quiet streams, one owner each, adds to the resident memory of a server. It is
 * read after garbage collections; the first streams, which load the code, do not count. Then the
 * CPU time that all of them take, and balances by turns on this server and on one without streams.
 */
export const streams: Benchmark = {
  names: ["watch.stream_bytes", "streams.10000.cpu", "streams.10000.balance"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const options = {
        env: { MEGURI_MAX_STREAMS: String(places) },
        node: ["--import", `${import.meta.dirname}/../support/collector.ts`],
      };
      const server = await stack.startServer(options);
      const empty = await stack.startServer(options);
      const afterCollection = async () => {
        process.kill(server.pid, "SIGUSR2");
        await sleep(collectionMs);
        return residentKb(server.pid);
      };
      const count = scale.pick(10_000, 500);
      const warm = scale.pick(100, 50);
      const watches = rawWatches(server.port);
      await watches.openAll(ownerIds(0, warm));
      const before = await afterCollection();
      await watches.openAll(ownerIds(warm, count));
      const opened = await residentKb(server.pid);
      const after = await afterCollection();
      await sleep(scale.pick(quietAfterMs, 1_000));
      const streamsCpu = await cpuOfQuiet(scale, server, empty);
      const ms = scale.pick(20_000, 2_000);
      for (const each of [server, empty]) await balances(each, ms / 4);
      const { a, b } = await byTurns(
        scale.pick(5, 1),
        () => balances(server, ms),
        () => balances(empty, ms),
      );
      watches.close();
      const balanceCpu = median(b.map(({ cpu }) => cpu));
      const [beside, without] = [a, b].map((all) => all.map(({ p99 }) => p99)) as [
        number[],
        number[],
      ];
      const ratios = ratioByTurns(beside, without);
      const each = (kb: number) => round((kb - before) / (count - warm));
      scale.note(
        `${before} KB with ${warm} streams; with ${count}: ${opened} KB (${each(opened)} each), ` +
          `${after} KB after garbage collections`,
      );
      scale.note(
        `${round(streamsCpu)} s of CPU a second, ${round(balanceCpu * 1_000)} ms a balance; ` +
          `p99 beside them ${beside.map(round)} ms, without ${without.map(round)} ms`,
      );
      return [
        {
          name: "watch.stream_bytes",
          value: each(after),
          unit: "KB of resident memory a stream, 10,000 open",
          target: "<= 60",
          baseline: "",
        },
        {
          name: "streams.10000.cpu",
          value: round(streamsCpu / balanceCpu),
          unit: "balances a second that take the CPU of 10,000 quiet streams",
          target: "",
          baseline: "balances on a server without streams",
        },
        {
          name: "streams.10000.balance",
          ...ratios,
          unit: "ratio of p99 latencies of a balance",
          target: "",
          baseline: "a server without streams, on the same store",
        },
      ];
    }),
};

/** The CPU time that quiet streams take, in seconds a second, more than a server without them. */
async function cpuOfQuiet(
  scale: Scale,
  { pid: streaming }: ServerProcess,
  { pid: empty }: ServerProcess,
): Promise<number> {
  const seconds = scale.pick(60, 2);
  const difference = async () => (await cpuSeconds(streaming)) - (await cpuSeconds(empty));
  const before = await difference();
  await sleep(seconds * 1_000);
  return ((await difference()) - before) / seconds;
}

/** The p99 in ms of balances that arrive at a server, and its CPU time for one, in seconds. */
async function balances({ pid, channel }: ServerProcess, ms: number) {
  const before = await cpuSeconds(pid);
  const arrivals = startArrivals(balancesPerSecond, (n) => balance(channel, userName(n)));
  await sleep(ms);
  const { sent, latencies } = await arrivals.stop();
  return { p99: percentile(latencies, 0.99), cpu: ((await cpuSeconds(pid)) - before) / sent };
}
