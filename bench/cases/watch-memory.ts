/** Measures the memory that 10,000 open streams of unread counts take in a server. */
import { setTimeout as sleep } from "node:timers/promises";
import { rawWatches } from "../../test/support/servers/raw-watches.ts";
import type { Benchmark } from "../benchmark.ts";
import { residentKb } from "../support/memory.ts";
import { round } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";
import { ownerIds, places } from "../support/watches.ts";

/** The collections of the server take about a second. */
const collectionMs = 3_000;

/**
 * What each of 10,000 quiet streams, one owner each, adds to the resident memory of a server. It is
 * read after garbage collections; the first streams, which load the code, do not count.
 */
export const watchMemory: Benchmark = {
  names: ["watch.stream_bytes"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const server = await stack.startServer({
        env: { MEGURI_MAX_STREAMS: String(places) },
        node: ["--import", `${import.meta.dirname}/../support/collector.ts`],
      });
      const afterCollection = async () => {
        process.kill(server.pid, "SIGUSR2");
        await sleep(collectionMs);
        return residentKb(server.pid);
      };
      const count = scale.pick(10_000, 500);
      const warm = scale.pick(100, 50);
      const watches = rawWatches(server.port);
      await watches.openAll(ownerIds(0, warm));
      const before = await afterCollection();
      await watches.openAll(ownerIds(warm, count));
      const after = await afterCollection();
      watches.close();
      const each = round((after - before) / (count - warm));
      scale.note(`${before} KB with ${warm} streams, ${after} KB with ${count}`);
      return [
        {
          name: "watch.stream_bytes",
          value: each,
          unit: "KB of resident memory a stream, 10,000 open",
          target: "<= 60",
          baseline: "",
        },
      ];
    }),
};
