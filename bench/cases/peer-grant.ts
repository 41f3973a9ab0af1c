/** Compares grants with a ledger in Postgres behind the same RPC path. */
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { grant, userName } from "../support/calls.ts";
import { cpuSeconds, cpuSecondsWithChildren } from "../support/cpu.ts";
import { byTurns, load } from "../support/load.ts";
import { ratioByTurns, round, type Turns } from "../support/numbers.ts";
import { withPeer } from "../support/peers.ts";
import { type ServerProcess, withStack } from "../support/stack.ts";

const callers = 64;

/** Which account caller `i` grants to. */
const accounts = [
  { name: "peers.grant.postgres", of: (i: number) => userName(i) },
  { name: "peers.grant.postgres.hot", of: () => userName(callers) },
] as const;

const ends = ["rate", "cpu", "cpu_database"] as const;

/** One measurement: calls a second, and the CPU time of a call in ms. */
interface Run {
  readonly rate: number;
  readonly cpuMs: number;
  /** The CPU time of the store, in ms. */
  readonly storeMs: number;
}

/** Grants on distinct accounts and on one, over those of the peer. */
export const peerGrant: Benchmark = {
  names: accounts.flatMap(({ name }) => ends.map((end) => `${name}.${end}`)),
  peers: true,
  run: (scale) =>
    withStack({}, (stack) =>
      withPeer(stack, async (peer) => {
        const ours = await stack.startServer();
        const theirs = await peer.startServer();
        const results: Result[] = [];
        for (const { name, of } of accounts) {
          const a = () => measure(scale, ours, () => cpuSeconds(stack.dynamo.pid), of);
          const b = () =>
            measure(scale, theirs, () => cpuSecondsWithChildren(peer.postgresPid), of);
          // The first seconds are not measured, because compilers are still at work.
          await byTurns(scale.pick(2, 0), a, b);
          results.push(...ratiosOf(scale, name, await byTurns(scale.pick(8, 1), a, b)));
        }
        return results;
      }),
    ),
};

async function measure(
  scale: Scale,
  { pid, channel }: ServerProcess,
  storeSeconds: () => Promise<number>,
  accountOf: (caller: number) => string,
): Promise<Run> {
  const usage = async () => ({ server: await cpuSeconds(pid), store: await storeSeconds() });
  const before = await usage();
  const run = { callers, warmMs: 0, ms: scale.pick(4_000, 1_000) };
  const { latencies, rate, errors, error } = await load({
    ...run,
    call: (i) => grant(channel, accountOf(i)),
  });
  if (errors > 0) throw error;
  const after = await usage();
  const each = (part: "server" | "store") =>
    ((after[part] - before[part]) * 1_000) / latencies.length;
  return { rate, cpuMs: each("server"), storeMs: each("store") };
}

/** The ratios of a run of Meguri and the one of the peer beside it. */
function ratiosOf(
  scale: Scale,
  name: string,
  { a, b }: { readonly a: readonly Run[]; readonly b: readonly Run[] },
): Result[] {
  for (const [side, runs] of [["ours", a] as const, ["peer", b] as const]) {
    const show = (of: keyof Run) => runs.map((one) => round(one[of]));
    scale.note(
      `${name} ${side}: ${show("rate")}/s, ms a call: server ${show("cpuMs")}, ` +
        `store ${show("storeMs")}`,
    );
  }
  const ratio = (of: (one: Run) => number, theirs = of) => ratioByTurns(a.map(of), b.map(theirs));
  const values = [
    {
      end: "rate",
      ...ratio(({ rate }) => rate),
      unit: "ratio of rates, which the emulator bounds",
    },
    {
      end: "cpu",
      ...ratio(({ cpuMs }) => cpuMs),
      unit: "ratio of the server's CPU time a call",
    },
    {
      end: "cpu_database",
      ...ratio(
        ({ cpuMs }) => cpuMs,
        ({ cpuMs, storeMs }) => cpuMs + storeMs,
      ),
      unit: "ratio of the CPU time a call of our server, over the peer's with its database",
    },
  ] satisfies (Turns & { end: (typeof ends)[number]; unit: string })[];
  return values.map(({ end, ...measured }) => ({
    name: `${name}.${end}`,
    ...measured,
    target: "",
    baseline: "peer: a Postgres ledger with row locks, a statement for each grant",
  }));
}
