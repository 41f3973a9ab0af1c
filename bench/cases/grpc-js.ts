/** Measures the CPU time of gRPC calls, served by the server and behind grpc-js. */
import type { Benchmark, Scale } from "../benchmark.ts";
import { balance, grant, userName } from "../support/calls.ts";
import { loadWithCpu } from "../support/cpu.ts";
import { byTurns } from "../support/load.ts";
import { ratioByTurns, type Turns } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import { type ServerProcess, withStack } from "../support/stack.ts";

const callers = 16;

/** The server's CPU time for a call, over that of a server of grpc-js. */
export const grpcJs: Benchmark = {
  names: ["grpc.cpu.balance", "grpc.cpu.grant"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const own = await stack.startServer();
      const grpc = await stack.startServer({ entry: "bench/baselines/grpc-js-server.ts" });
      const reads = await compare(scale, own, grpc, "balance", balance);
      const grants = await compare(scale, own, grpc, "grant", grant);
      const result = (name: string, ratio: Turns) => ({
        name,
        ...ratio,
        unit: "ratio of the server's CPU a call",
        target: "<= 1.15",
        baseline: "grpc-js-server: the same handlers behind grpc-js",
      });
      return [result("grpc.cpu.balance", reads), result("grpc.cpu.grant", grants)];
    }),
};

async function compare(
  scale: Scale,
  a: ServerProcess,
  b: ServerProcess,
  name: string,
  call: (channel: Channel, userId: string) => Promise<void>,
) {
  const times = { warmMs: scale.pick(1_000, 300), ms: scale.pick(3_000, 1_000) };
  const measure = ({ pid, channel }: ServerProcess) => {
    const options = { callers, ...times, call: (i: number) => call(channel, userName(i)) };
    return loadWithCpu(pid, options);
  };
  const turns = await byTurns(
    scale.pick(4, 2),
    () => measure(a),
    () => measure(b),
  );
  const µs = (runs: typeof turns.a) => runs.map((one) => (one.cpu * 1e6).toFixed(0)).join(" ");
  const rates = (runs: typeof turns.a) => runs.map(({ rate }) => rate.toFixed(0)).join(" ");
  scale.note(`${name}: own ${µs(turns.a)} µs (${rates(turns.a)}/s)`);
  scale.note(`${name}: grpc-js ${µs(turns.b)} µs (${rates(turns.b)}/s)`);
  const cpu = (runs: typeof turns.a) => runs.map((one) => one.cpu);
  return ratioByTurns(cpu(turns.a), cpu(turns.b));
}
