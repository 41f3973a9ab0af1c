/** Measures the memory of 50 subscriptions whose destinations hang, over that of one. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDestinations } from "../../src/events/destinations/create-destinations.ts";
import { deliverAll } from "../../src/events/runtime/deliveries.ts";
import { createSubscriptionMetrics } from "../../src/events/runtime/subscription-metrics.ts";
import { silent } from "../../test/support/fixtures/deliveries.ts";
import {
  createListedLog,
  entryEvent,
  type ListedLog,
} from "../../test/support/fixtures/listed-events.ts";
import { eventually } from "../../test/support/fixtures/waiting.ts";
import { memoryDeps } from "../../test/support/stores/memory-store.ts";
import type { Benchmark } from "../benchmark.ts";
import { round } from "../support/numbers.ts";
import { residentKb } from "../support/resident.ts";

/** As many as a subscription reads ahead. */
const maxWaiting = 500;

/** Each waits with as many events as it may, and with as many requests. */
export const subscriptionMemory: Benchmark = {
  names: ["events.subscriptions_memory"],
  async run(scale) {
    const count = scale.pick(50, 5);
    const log = createListedLog();
    for (let i = 0; i < 20; i++) {
      log.append(...Array.from({ length: 50 }, (_, user) => entryEvent(`u${i}-${user}`, 1)));
    }
    const server = createServer(() => {});
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const folder = mkdtempSync(join(tmpdir(), "meguri-bench-"));
    const secret = join(folder, "secret");
    writeFileSync(secret, `whsec_${Buffer.alloc(32, 1).toString("base64")}`);
    const one = await start(["first"], { url, secret, log });
    const before = await residentKb();
    const names = Array.from({ length: count - 1 }, (_, i) => `s${i}`);
    const more = await start(names, { url, secret, log });
    const after = await residentKb();
    await Promise.all([one(), more()]);
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
    scale.note(`${before} KB with one, ${after} KB with ${count}`);
    return [
      {
        name: "events.subscriptions_memory",
        value: round((after - before) / (count - 1)),
        unit: "KB of resident memory a subscription whose destination hangs, 50 subscriptions",
        target: "<= 4000",
        baseline: "",
      },
    ];
  },
};

interface Site {
  readonly url: string;
  readonly secret: string;
  readonly log: ListedLog;
}

/** Starts subscriptions, and waits until each is full. Returns what stops them. */
async function start(names: readonly string[], { url, secret, log }: Site) {
  const metrics = createSubscriptionMetrics();
  const definitions = names.map((name) => ({
    ...{ name, url, secret_files: [secret], allow_private: true },
    ...({ type: "http", types: "all", programs: "all", start: "oldest" } as const),
  }));
  const stopping = new AbortController();
  const done = deliverAll(
    {
      deps: memoryDeps().deps,
      subscribed: createDestinations(definitions, silent),
      eventLog: log,
      installation: "bench",
      metrics,
      logger: silent,
      now: Date.now,
    },
    stopping.signal,
  );
  await eventually(async () => {
    const { values } = await metrics.waiting.get();
    const full = values.filter(({ value }) => value === maxWaiting);
    if (full.length < names.length) throw new Error(`${full.length} of ${names.length} are full`);
  });
  return async () => {
    stopping.abort();
    await done;
  };
}
