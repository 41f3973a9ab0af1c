/** Measures how long a server and a worker take to start. */
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { balance, userName } from "../support/calls.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { byTurns } from "../support/load.ts";
import { median, round } from "../support/numbers.ts";
import { type Process, withStack } from "../support/stack.ts";

const names = (what: "server" | "worker") => [`start.${what}.cpu`, `start.${what}.time`];

/** From the start of a server to its first answer, over one that loads the libraries only. */
export const serverStart: Benchmark = {
  names: names("server"),
  run: (scale) =>
    withStack({}, async (stack) => {
      const start = async (entry?: string) => {
        const server = await stack.startServer(entry === undefined ? {} : { entry });
        await balance(server.channel, userName(0));
        return server;
      };
      return compare(
        scale,
        "server",
        () => start(),
        () => start("bench/baselines/bare-server.ts"),
      );
    }),
};

/** From the start of a worker until it polls, over one that loads the libraries only. */
export const workerStart: Benchmark = {
  names: names("worker"),
  run: (scale) =>
    withStack({ temporal: true }, (stack) =>
      compare(
        scale,
        "worker",
        () => stack.startWorker(),
        () => stack.startWorker({ entry: "bench/baselines/bare-worker.ts" }),
      ),
    ),
};

/** One start, in seconds. */
interface Start {
  readonly cpu: number;
  readonly time: number;
}

async function compare(
  scale: Scale,
  what: "server" | "worker",
  own: () => Promise<Process>,
  bare: () => Promise<Process>,
): Promise<Result[]> {
  // The first starts read the files from the disk, and bundle the workflows.
  await timed(own);
  await timed(bare);
  const { a, b } = await byTurns(
    scale.pick(9, 1),
    () => timed(own),
    () => timed(bare),
  );
  return (["cpu", "time"] as const).map((part) => {
    const ratios = a.map((start, i) => start[part] / (b[i]?.[part] ?? Number.NaN));
    for (const [name, starts] of Object.entries({ own: a, bare: b })) {
      scale.note(`${what}, ${name}: ${part} ${starts.map((start) => round(start[part]))} s`);
    }
    return {
      name: `start.${what}.${part}`,
      value: round(median(ratios)),
      unit: part === "cpu" ? "ratio of CPU times of a start" : "ratio of times of a start",
      target: "",
      baseline: `bare-${what}: the libraries alone`,
    };
  });
}

async function timed(start: () => Promise<Process>): Promise<Start> {
  const from = performance.now();
  const process_ = await start();
  const time = (performance.now() - from) / 1_000;
  const cpu = await cpuSeconds(process_.pid);
  await process_.stop();
  return { cpu, time };
}
