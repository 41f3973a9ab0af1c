/** A server as a child process, for tests that try to break it: reports its heap when asked. */
import { compose } from "../../../src/compose.ts";
import { readConfig } from "../../../src/config.ts";
import { createLogger } from "../../../src/log.ts";
import { createServer } from "../../../src/server.ts";
import { noWorkflows } from "./no-workflows.ts";

const config = readConfig(process.env);
const log = createLogger("fuzz", config.logLevel);
const { deps, close } = compose(config, noWorkflows, log);
const server = createServer({ deps, config, log, uploadIdleMs: 500 });
const ports = await server.listen();

process.on("message", async () => {
  // What has just ended is released by timers and by finalizers, which the second pass finds.
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    globalThis.gc?.();
  }
  process.send?.({ heap: process.memoryUsage().heapUsed });
});
process.on("disconnect", async () => {
  await server.drain();
  await close();
  process.exit(0);
});
process.send?.(ports);
