/** Tests who holds a lease: the latest process, or another one when the holder has died. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import type { Lease } from "../../../src/platform/ports/lease.ts";
import { leaseRef } from "../../../src/platform/ports/records.ts";
import { createLease } from "../../../src/platform/work/lease.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { type MemoryDeps, memoryDeps } from "../../support/stores/memory-store.ts";

const log = createLogger("test", "silent");
const hourMs = 3_600_000;
const soon = { heartbeatMs: 10, deadMs: hourMs };

let memory: MemoryDeps;
beforeEach(() => {
  memory = memoryDeps();
});
afterEach(() => vi.useRealTimers());

/** A process, whose store can be cut off. */
function startProcess(timing = soon) {
  const deps = memory.process();
  const link = { isCutOff: false };
  let looks = 0;
  const engine: Deps["engine"] = {
    transact: (request) =>
      link.isCutOff ? Promise.reject(new Error("cut off")) : deps.engine.transact(request),
  };
  const get: Deps["reader"]["get"] = (ref) => {
    looks += 1;
    return deps.reader.get(ref);
  };
  const lease = createLease({ engine, reader: { ...deps.reader, get } }, "work", log, timing);
  onTestFinished(() => lease.close());
  return { lease, link, looks: () => looks };
}

/** What `take` has come to. */
function taking(lease: Lease) {
  const taken = { signal: undefined as AbortSignal | undefined, ended: false };
  void lease.take().then((signal) => Object.assign(taken, { signal, ended: true }));
  return taken;
}

const heartbeat = async () =>
  (await memory.deps.reader.get(leaseRef("work")))?.value.heartbeat ?? 0;

/** Waits for two more heartbeats of the holder. */
async function heartbeats(): Promise<void> {
  const before = await heartbeat();
  await eventually(async () => expect(await heartbeat()).toBeGreaterThan(before + 1));
}

test("the first process holds it at once, and keeps it", async () => {
  const alone = startProcess({ heartbeatMs: hourMs, deadMs: hourMs });
  expect((await alone.lease.take())?.aborted).toBe(false);
  expect(alone.lease.isElsewhere()).toBe(false);
});

test("a process that starts later takes it, when the other has stopped", async () => {
  const early = startProcess();
  const lost = await early.lease.take();
  await heartbeats();
  const slow = startProcess({ heartbeatMs: hourMs, deadMs: hourMs });
  const waiting = taking(slow.lease);
  await eventually(async () => expect(lost?.aborted).toBe(true));
  expect(early.lease.isElsewhere()).toBe(true);
  expect(waiting.ended).toBe(false);
  const late = startProcess();
  expect((await late.lease.take())?.aborted).toBe(false);
});

test("an earlier process does not take it back from one that lives", async () => {
  const early = startProcess();
  const lost = await early.lease.take();
  const late = startProcess();
  const held = await late.lease.take();
  await eventually(async () => expect(lost?.aborted).toBe(true));
  const waiting = taking(early.lease);
  const looks = early.looks();
  await eventually(async () => expect(early.looks()).toBeGreaterThan(looks + 5));
  expect(waiting.ended).toBe(false);
  expect(held?.aborted).toBe(false);
});

test("another process replaces a holder that is dead, and one that comes back stops", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const early = startProcess({ heartbeatMs: 10, deadMs: 30_000 });
  const lost = await early.lease.take();
  const late = startProcess();
  const held = await late.lease.take();
  await eventually(async () => expect(lost?.aborted).toBe(true));
  const waiting = taking(early.lease);
  const seenAgain = async () => {
    const looks = early.looks();
    await eventually(async () => expect(early.looks()).toBeGreaterThan(looks + 1));
  };
  for (let i = 0; i < 3; i += 1) {
    await heartbeats();
    await seenAgain();
    vi.advanceTimersByTime(20_000);
  }
  await heartbeats();
  expect(waiting.ended).toBe(false);
  late.link.isCutOff = true;
  await seenAgain();
  vi.advanceTimersByTime(29_000);
  await seenAgain();
  expect(waiting.ended).toBe(false);
  vi.advanceTimersByTime(1_001);
  await eventually(async () => expect(waiting.signal?.aborted).toBe(false));
  expect(held?.aborted).toBe(false);
  late.link.isCutOff = false;
  await eventually(async () => expect(held?.aborted).toBe(true));
  expect(waiting.signal?.aborted).toBe(false);
});

test("a released one is taken by another process, and by the same one again", async () => {
  const early = startProcess();
  const lost = await early.lease.take();
  const late = startProcess();
  await late.lease.take();
  await eventually(async () => expect(lost?.aborted).toBe(true));
  const again = taking(early.lease);
  await late.lease.release();
  await eventually(async () => expect(again.signal?.aborted).toBe(false));
  await early.lease.release();
  expect(again.signal?.aborted).toBe(true);
  expect((await late.lease.take())?.aborted).toBe(false);
});

test("a closed one is free for the next process at once", async () => {
  const early = startProcess();
  const held = await early.lease.take();
  await early.lease.close();
  expect(held?.aborted).toBe(true);
  expect(await early.lease.take()).toBeUndefined();
  const next = startProcess({ heartbeatMs: hourMs, deadMs: hourMs });
  expect((await next.lease.take())?.aborted).toBe(false);
});

test("it is taken as soon as the store answers", async () => {
  const early = startProcess();
  early.link.isCutOff = true;
  const waiting = taking(early.lease);
  await new Promise((resolve) => setTimeout(resolve, 3 * soon.heartbeatMs));
  expect(waiting.ended).toBe(false);
  early.link.isCutOff = false;
  await eventually(async () => expect(waiting.signal?.aborted).toBe(false));
});
