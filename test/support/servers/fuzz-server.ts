/**
 * A server as a child process on a store in memory, for tests that try to break it: reports its
 * heap when asked.
 */

import { createBulkGrantStreams } from "../../../src/bulk-grants/runtime/bulk-grants.ts";
import { progressOf } from "../../../src/bulk-grants/use-cases/queries.ts";
import { createUnreadCountStreams } from "../../../src/feed/runtime/unread-counts.ts";
import { setupProgram } from "../../../src/ops/setup.ts";
import { readConfig } from "../../../src/platform/config/config.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { createServer } from "../../../src/server.ts";
import { memoryDeps } from "../stores/memory-store.ts";

const log = createLogger("fuzz", "error");
const { deps } = memoryDeps();
const streams = { reader: deps.reader, log, maxStreams: 1_000 };
await setupProgram(deps);
const env = {
  MEGURI_PORT: "0",
  MEGURI_HTTP1_PORT: "0",
  MEGURI_OPERATORS_PORT: "0",
  MEGURI_DRAIN_SECONDS: "1",
  MEGURI_TEST_CLOCK: "1",
};
const server = createServer({
  deps: {
    ...deps,
    unreadCounts: createUnreadCountStreams(streams),
    bulkGrantStreams: createBulkGrantStreams({
      ...streams,
      progressOf: (bulkGrant) => progressOf(deps, bulkGrant),
    }),
  },
  config: readConfig(env, "server"),
  log,
  uploadIdleMs: 500,
});
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
  process.exit(0);
});
process.send?.(ports);
