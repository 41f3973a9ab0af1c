/** Measures how long a server and a worker take to start. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { balance, userName } from "../support/calls.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { ratioByTurns, round } from "../support/numbers.ts";
import { type Process, type ProcessOptions, withStack } from "../support/stack.ts";

type Role = "server" | "worker";
type Side = "own" | "compiled" | "bare";

const namesOf = (role: Role) => [
  `start.${role}.cpu`,
  `start.${role}.time`,
  `start.${role}.cpu.compiled`,
];

/** From the start of a server to its first answer, over one that does no more than a balance. */
export const serverStart: Benchmark = {
  names: namesOf("server"),
  run: (scale) =>
    withStack({}, (stack) =>
      compare(scale, "server", async (options) => {
        const server = await stack.startServer(options);
        await balance(server.channel, userName(0));
        return server;
      }),
    ),
};

/** From the start of a worker until it is about to poll, over one without activities. */
export const workerStart: Benchmark = {
  names: namesOf("worker"),
  run: (scale) =>
    withStack({ temporal: true }, (stack) => compare(scale, "worker", stack.startWorker)),
};

/** One start, in seconds. */
interface Start {
  readonly cpu: number;
  readonly time: number;
}

async function compare(
  scale: Scale,
  role: Role,
  start: (options: ProcessOptions) => Promise<Process>,
): Promise<Result[]> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-bench-"));
  const options: Readonly<Record<Side, ProcessOptions>> = {
    own: {},
    compiled: { env: { NODE_COMPILE_CACHE: folder } },
    bare: { entry: `bench/baselines/bare-${role}.ts` },
  };
  const sides: readonly Side[] = ["own", "compiled", "bare"];
  const starts: Record<Side, Start[]> = { own: [], compiled: [], bare: [] };
  try {
    // The first starts read the files from the disk, bundle the workflows and compile the modules.
    for (const side of sides) await timed(() => start(options[side]));
    for (let turn = 0; turn < scale.pick(5, 1); turn++) {
      for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
        starts[side].push(await timed(() => start(options[side])));
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  for (const side of sides) {
    const show = (part: keyof Start) => starts[side].map((each) => round(each[part])).join(" ");
    scale.note(`${role}, ${side}: ${show("cpu")} s of CPU, ${show("time")} s`);
  }
  const ratio = (part: keyof Start, a: Side, b: Side) =>
    ratioByTurns(
      starts[a].map((one) => one[part]),
      starts[b].map((one) => one[part]),
    );
  const bare = { target: "", baseline: `bare-${role}: the libraries alone` };
  const [cpu, time, compiled] = namesOf(role) as [string, string, string];
  return [
    { name: cpu, ...ratio("cpu", "own", "bare"), unit: "ratio of CPU times", ...bare },
    { name: time, ...ratio("time", "own", "bare"), unit: "ratio of times", ...bare },
    {
      name: compiled,
      ...ratio("cpu", "compiled", "own"),
      unit: "ratio of CPU times, modules compiled before",
      target: "<= 0.85",
      baseline: "the same start without NODE_COMPILE_CACHE",
    },
  ];
}

async function timed(start: () => Promise<Process>): Promise<Start> {
  const from = performance.now();
  const started = await start();
  const time = (performance.now() - from) / 1_000;
  const cpu = await cpuSeconds(started.pid);
  await started.stop();
  return { cpu, time };
}
