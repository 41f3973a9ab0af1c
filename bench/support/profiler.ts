/**
 * Profiles a server that loads this file (`node --import`): the first SIGUSR2 starts the CPU
 * profiler, the second one stops it and writes the profile to the file that BENCH_PROFILE names.
 */
import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";

const { BENCH_PROFILE: file = "" } = process.env;
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: 500 });

let running = false;
process.on("SIGUSR2", () => void (running ? stop() : start()));

async function start(): Promise<void> {
  running = true;
  await session.post("Profiler.start");
}

async function stop(): Promise<void> {
  const { profile } = await session.post("Profiler.stop");
  running = false;
  await writeFile(file, JSON.stringify(profile));
}
