/** Measures the log of events: how late it is, what it costs the store, and the CPU of a change. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createEventTail } from "../../src/events/runtime/event-tail.ts";
import { createEventLog } from "../../src/events/store/event-log.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { installationRef } from "../../src/platform/ports/records.ts";
import { changeRecord } from "../../src/platform/work/change-record.ts";
import { entryRef } from "../../src/points/ports/records.ts";
import { entry } from "../../test/support/fixtures/stored-points.ts";
import { eventually } from "../../test/support/fixtures/waiting.ts";
import type { CapturedRequest } from "../../tools/dynamo-proxy/proxy.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { startArrivals } from "../support/arrivals.ts";
import { grant, userName } from "../support/calls.ts";
import { cpuSeconds, loadWithCpu } from "../support/cpu.ts";
import { load } from "../support/load.ts";
import { withMeteredStack } from "../support/metered.ts";
import { percentile, round } from "../support/numbers.ts";
import { seed } from "../support/seed.ts";
import { type Stack, withStack } from "../support/stack.ts";

/** The entries go to so many accounts in turn. */
const accounts = 1_000;

/** So many entries are written by one request. */
const together = 25;

/** A reader of the log, and when it saw each event. */
interface LogReader {
  readonly seen: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/** Follows the log as a server does for the calls that wait there. */
function startReader({ clients, config }: Stack): LogReader {
  const eventLog = createEventLog(clients.retrying, tableName(config.tablePrefix)("events"));
  const tail = createEventTail({ eventLog, note() {} });
  const seen = new Map<string, number>();
  const stopping = new AbortController();

  async function run(): Promise<void> {
    for (let next = 1; !stopping.signal.aborted; ) {
      if (!(await tail.waitFor(next, 10_000, stopping.signal))) continue;
      const batches = await tail.read(next, "bench");
      const now = performance.now();
      for (const { events } of batches) for (const { id } of events) seen.set(id, now);
      next += batches.length;
    }
  }
  const running = run();
  return {
    seen,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Starts the events process of an installation, which has no Temporal here. */
async function startEvents(stack: Stack) {
  await changeRecord(
    stack.deps,
    { ref: installationRef },
    (found) => found ?? { id: randomUUID() },
  );
  return stack.startEvents();
}

/**
 * Writes entries of ledgers into the table itself, 300 a second: the emulator has the same changes
 * in its streams as with grants, and time for both. Returns the events that are seen, and how late
 * each was after the answer to its write.
 */
function createChanges(stack: Stack, { seen }: LogReader, { pick }: Scale) {
  let written = 0;

  async function write(answered: Map<string, number>): Promise<void> {
    const entries = Array.from({ length: together }, () => {
      const userId = userName(written % accounts);
      const number = Math.floor(written / accounts) + 1;
      written += 1;
      return { userId, number };
    });
    await seed(
      stack,
      entries.map(({ userId, number }) => ({
        ...{ ref: entryRef("changes", userId, number), value: entry(number), version: 1 },
      })),
    );
    const now = performance.now();
    for (const { userId, number } of entries) {
      answered.set(`points/changes/${userId}/${number}`, now);
    }
  }

  return async (ms: number): Promise<readonly number[]> => {
    const answered = new Map<string, number>();
    const arrivals = startArrivals(pick(300, 50) / together, () => write(answered));
    await sleep(ms);
    await arrivals.stop();
    await eventually(async () => {
      const missing = [...answered.keys()].filter((id) => !seen.has(id));
      if (missing.length > 0) throw new Error(`${missing.length} events are missing`);
    });
    return [...answered].map(([id, at]) => Math.max(0, (seen.get(id) ?? 0) - at));
  };
}

/** The CPU time of a server for a grant, in seconds. */
async function cpuOfGrant(stack: Stack, { pick }: Scale): Promise<number> {
  const { channel, pid, stop } = await stack.startServer();
  let calls = 0;
  const call = () => grant(channel, userName(calls++ % accounts));
  const times = { warmMs: pick(5_000, 500), ms: pick(10_000, 1_000) };
  // CPU time is read before and after all calls, so the server is warm before.
  await load({ callers: 16, call, ...times });
  const { cpu } = await loadWithCpu(pid, { callers: 16, call, ...times, warmMs: 0 });
  await stop();
  return cpu;
}

/** How late events are in the log, and the CPU time of the events process for each of them. */
export const eventsLag: Benchmark = {
  names: ["events.lag", "events.cpu"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const server = await cpuOfGrant(stack, scale);
      const { pid } = await startEvents(stack);
      const reader = startReader(stack);
      const change = createChanges(stack, reader, scale);
      // What the process needs to start, and to read what came before, is not of a change.
      await change(scale.pick(5_000, 1_000));
      const before = await cpuSeconds(pid);
      const lags = await change(scale.pick(30_000, 3_000));
      const writer = ((await cpuSeconds(pid)) - before) / lags.length;
      await reader.stop();
      const [p50 = 0, p99 = 0] = [0.5, 0.99].map((share) => percentile(lags, share));
      scale.note(
        `${lags.length} changes, p50 ${round(p50)} ms, CPU time of a grant ` +
          `${round(1_000 * server)} ms, of its event ${round(1_000 * writer)} ms`,
      );
      return [
        {
          name: "events.lag",
          value: round(p99 / 1_000),
          unit: "s from the answer to a reader of the log, p99 at 300 changes/s",
          target: "<= 1",
          baseline: "",
        },
        {
          name: "events.cpu",
          value: round(writer / server),
          unit: "CPU time of the events process for a change",
          target: "<= 1",
          baseline: "of the server for a grant",
        },
      ];
    }),
};

/** Whether a request appends to the log, or moves its head. */
const isWrite =
  (table: string) =>
  ({ operation, request }: CapturedRequest): boolean =>
    operation === "PutItem" && (request as { readonly TableName?: string }).TableName === table;

/** The write units of the log for a change. */
export const eventsUnits: Benchmark = {
  names: ["events.write_units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const events = tableName(stack.config.tablePrefix)("events");
      // The changes and the reader go around the proxy, so that the meter sees the log alone.
      const reader = startReader(stack);
      const change = createChanges(stack, reader, scale);
      let count = 0;
      const { usage, requests } = await stack.meter(async () => {
        await startEvents(stack);
        count = (await change(scale.pick(20_000, 3_000))).length;
      }, isWrite(events));
      await reader.stop();
      scale.note(`${count} changes, ${requests} writes of ${usage.writes} units`);
      return [
        {
          name: "events.write_units",
          value: round(usage.writes / count),
          unit: "write units of the log a change at 300 changes/s",
          target: "<= 1",
          baseline: "",
          counted: true,
        },
      ];
    }),
};
