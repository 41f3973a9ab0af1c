/** Measures how long a server takes to start. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { build } from "../../src/ops/build.ts";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { balance, userName } from "../support/calls.ts";
import { cpuSeconds } from "../support/cpu.ts";
import { ratioByTurns, round } from "../support/numbers.ts";
import { type ProcessOptions, type Stack, withStack } from "../support/stack.ts";

const sides = ["own", "built", "bare"] as const;
type Side = (typeof sides)[number];

/** One start, in seconds. */
interface Start {
  readonly cpu: number;
  readonly time: number;
}

type Starts = Readonly<Record<Side, Start[]>>;

/** From the start of a server to its first answer, over one that does no more than a balance. */
export const serverStart: Benchmark = {
  names: ["server.start.cpu", "server.start.time", "server.start.cpu.source"],
  run: (scale) =>
    withStack({}, async (stack) => {
      // Below the project's root, where what is built finds its dependencies.
      const cache = `${import.meta.dirname}/../../node_modules/.cache`;
      await mkdir(cache, { recursive: true });
      const folder = await mkdtemp(join(cache, "meguri-bench-"));
      const built = join(folder, "built");
      const options: Readonly<Record<Side, ProcessOptions>> = {
        own: {},
        built: {
          entry: join(built, "server.js"),
          env: { NODE_COMPILE_CACHE: join(folder, "compiled") },
        },
        bare: { entry: "bench/baselines/bare-server.ts" },
      };
      const starts: Starts = { own: [], built: [], bare: [] };
      try {
        await build(built);
        // The first starts read the files from the disk and compile the modules.
        for (const side of sides) await start(stack, options[side]);
        for (let turn = 0; turn < scale.pick(5, 1); turn++) {
          for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
            starts[side].push(await start(stack, options[side]));
          }
        }
      } finally {
        await rm(folder, { recursive: true });
      }
      return results(scale, starts);
    }),
};

async function start(stack: Stack, options: ProcessOptions): Promise<Start> {
  const from = performance.now();
  const server = await stack.startServer(options);
  await balance(server.channel, userName(0));
  const time = (performance.now() - from) / 1_000;
  const cpu = await cpuSeconds(server.pid);
  await server.stop();
  return { cpu, time };
}

function results(scale: Scale, starts: Starts): Result[] {
  for (const side of sides) {
    const show = (part: keyof Start) => starts[side].map((each) => round(each[part])).join(" ");
    scale.note(`${side}: ${show("cpu")} s of CPU, ${show("time")} s`);
  }
  const ratio = (part: keyof Start, a: Side, b: Side) =>
    ratioByTurns(
      starts[a].map((one) => one[part]),
      starts[b].map((one) => one[part]),
    );
  const bare = { baseline: "bare-server: the libraries alone" };
  return [
    {
      name: "server.start.cpu",
      ...ratio("cpu", "built", "bare"),
      unit: "ratio of CPU times, started as in the image",
      target: "<= 2.4",
      ...bare,
    },
    {
      name: "server.start.time",
      ...ratio("time", "built", "bare"),
      unit: "ratio of times, started as in the image",
      target: "",
      ...bare,
    },
    {
      name: "server.start.cpu.source",
      ...ratio("cpu", "own", "bare"),
      unit: "ratio of CPU times, started from its source",
      target: "",
      ...bare,
    },
  ];
}
