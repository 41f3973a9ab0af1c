/**
 * Preloaded into a server process (`node --import`): answers by HTTP how long its event loop has
 * stood still since the last question, and how much memory the process holds.
 */
import { createServer } from "node:http";
import { performance } from "node:perf_hooks";

export interface Probe {
  /** The longest time without a turn of the event loop, in ms of CPU. */
  readonly pauseMs: number;
  /**
   * Memory that JavaScript, buffers, HTTP/2 and TLS hold, in bytes. Not the resident memory: that
   * one tells what the allocator keeps of freed pages, which differs from run to run.
   */
  readonly heldBytes: number;
}

const tickMs = 1;

/** The CPU time of the main thread: what another process takes is no pause of this one. */
const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

let wall = performance.now();
let cpu = cpuMs();
let pauseMs = 0;

function look(): void {
  const [nextWall, nextCpu] = [performance.now(), cpuMs()];
  pauseMs = Math.max(pauseMs, Math.min(nextWall - wall, nextCpu - cpu));
  [wall, cpu] = [nextWall, nextCpu];
}
setInterval(look, tickMs).unref();

// Never closes an idle connection, on which the next question may be under way.
const server = createServer({ keepAliveTimeout: 0 }, ({ url }, response) => {
  look();
  const found = pauseMs;
  if (url === "/collect")
    globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  const { heapUsed, external } = process.memoryUsage();
  response.end(JSON.stringify({ pauseMs: found, heldBytes: heapUsed + external }));
  // What the question itself takes belongs to no other call.
  [wall, cpu, pauseMs] = [performance.now(), cpuMs(), 0];
});
server.listen({ host: "127.0.0.1", port: Number(process.env.TEST_PROBE_PORT) });
server.unref();
