/** Measures how the server's CPU time is divided between this code, the SDK and gRPC. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { balance, grant, userName } from "../support/calls.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { load } from "../support/load.ts";
import { round, sum } from "../support/numbers.ts";
import { formatShares, readProfile, type Shares } from "../support/profile.ts";
import type { Channel } from "../support/rpc.ts";
import { type ServerProcess, type Stack, withStack } from "../support/stack.ts";

const callers = 16;

const calls = [
  { name: "grant", call: grant },
  { name: "balance", call: balance },
] as const;

/** Shares of the CPU time while the server grants on warm accounts and reads balances. */
export const cpu: Benchmark = {
  names: calls.flatMap(({ name }) =>
    ["grpc", "sdk", "ours", "emulator"].map((part) => `${name}.cpu.${part}`),
  ),
  run: (scale) =>
    withStack({}, async (stack) => {
      const folder = await mkdtemp(join(tmpdir(), "meguri-bench-"));
      try {
        const results: Result[] = [];
        for (const { name, call } of calls) {
          results.push(...(await profile(stack, scale, join(folder, name), name, call)));
        }
        return results;
      } finally {
        await rm(folder, { recursive: true });
      }
    }),
};

async function profile(
  stack: Stack,
  scale: Scale,
  file: string,
  name: string,
  call: (channel: Channel, userId: string) => Promise<void>,
): Promise<Result[]> {
  const server = await stack.startServer({
    node: ["--import", `${import.meta.dirname}/../support/profiler.ts`],
    env: { BENCH_PROFILE: file },
  });
  const run = (ms: number) =>
    load({ callers, warmMs: 0, ms, call: (i) => call(server.channel, userName(i)) });
  await run(scale.pick(6_000, 1_000));
  process.kill(server.pid, "SIGUSR2");
  await sleep(100);
  const before = await usage(stack, server);
  const { latencies } = await run(scale.pick(10_000, 2_000));
  const after = await usage(stack, server);
  process.kill(server.pid, "SIGUSR2");
  await sleep(1_000);
  await server.stop();
  const profiled = await readProfile(file);
  const perCall = (part: "server" | "store") =>
    ((after[part] - before[part]) / latencies.length) * 1e6;
  scale.note(
    `${name}: ${latencies.length} calls, server ${perCall("server").toFixed(0)} µs a call ` +
      `(busy ${(100 * profiled.busy).toFixed(0)} %), emulator ${perCall("store").toFixed(0)} µs`,
  );
  scale.note(`on behalf of: ${formatShares(profiled.onBehalf)}`);
  scale.note(`self: ${formatShares(profiled.self)}`);
  const functions = formatShares(profiled.functions.slice(0, 40), 0.004);
  scale.note(`functions:\n    ${functions.replaceAll(", ", "\n    ")}`);
  const share = (part: string, value: number): Result => ({
    name: `${name}.cpu.${part}`,
    value: round(value),
    unit: part === "emulator" ? "of the CPU of server and emulator" : "of the server's CPU",
    target: "",
    baseline: "",
  });
  const of = (owner: string, shares: Shares) => shares.find(([name]) => name === owner)?.[1] ?? 0;
  return [
    share(
      "grpc",
      sum(["gRPC", "connect", "node http2"].map((name) => of(name, profiled.onBehalf))),
    ),
    share("sdk", of("AWS SDK", profiled.onBehalf) + of("node http1", profiled.onBehalf)),
    share("ours", of("ours", profiled.onBehalf)),
    share("emulator", perCall("store") / (perCall("store") + perCall("server"))),
  ];
}

const usage = async (stack: Stack, server: ServerProcess) => ({
  server: await cpuSeconds(server.pid),
  store: await cpuSeconds(stack.dynamo.pid),
});
