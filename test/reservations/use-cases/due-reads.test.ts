/** Tests when the sweeps of a process read a shard again. */
import { expect, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { allShards } from "../../../src/reservations/use-cases/all-reservations.ts";
import { createDueMemory } from "../../../src/reservations/use-cases/due-reads.ts";
import { createReservationFixture } from "../../support/fixtures/memory-reservations.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";

const observers = { onDone() {}, onFailed: () => expect.unreachable("none fails") };

/** A fixture and a sweep with one memory, which returns how many shards and hours it has read. */
function setUp(isHeld = () => false) {
  const fixture = createReservationFixture();
  const { deps } = fixture;
  const memory = createDueMemory();
  const pendingInShard = vi.fn(deps.reader.pendingInShard);
  const heldInShard = vi.fn(deps.reader.heldInShard);
  const dueHours = vi.fn(deps.reader.dueHours);
  const reader: Deps["reader"] = { ...deps.reader, pendingInShard, heldInShard, dueHours };
  return {
    ...fixture,
    async sweep() {
      for (const read of [pendingInShard, heldInShard, dueHours]) read.mockClear();
      const { granted } = await sweepAll({ ...deps, reader }, { ...observers, isHeld }, memory);
      const shards = pendingInShard.mock.calls.length + heldInShard.mock.calls.length;
      return { granted, shards, hours: dueHours.mock.calls.length };
    },
  };
}

const shards = allShards({}).length;

test("within 10 s, one in which nothing is due is not read again", async () => {
  const { clock, reserve, sweep } = setUp();
  await reserve("later", { inMs: 60_000 });
  expect(await sweep()).toEqual({ granted: 0, shards, hours: 16 });
  clock.time += 9_999;
  expect(await sweep()).toEqual({ granted: 0, shards: 0, hours: 0 });
  clock.time += 1;
  expect(await sweep()).toEqual({ granted: 0, shards, hours: 16 });
});

test("one in which something is due soon is read when that is overdue", async () => {
  const { clock, reserve, sweep } = setUp();
  await reserve("soon", { inMs: 5_000 });
  expect(await sweep()).toMatchObject({ shards });
  clock.time += 5_999;
  expect(await sweep()).toMatchObject({ granted: 0, shards: 0 });
  clock.time += 2;
  expect(await sweep()).toMatchObject({ granted: 1, shards: 1 });
  // What was overdue may be left, so it is read once more.
  expect(await sweep()).toMatchObject({ granted: 0, shards: 1 });
  expect(await sweep()).toMatchObject({ granted: 0, shards: 0 });
});

test("one in which this process holds what is due is not read each time", async () => {
  let isHeld = true;
  const { clock, reserve, sweep } = setUp(() => isHeld);
  await reserve("held", { inMs: -1_001 });
  expect(await sweep()).toMatchObject({ granted: 0, shards });
  clock.time += 2_999;
  isHeld = false;
  expect(await sweep()).toMatchObject({ granted: 0, shards: 0 });
  clock.time += 1;
  expect(await sweep()).toMatchObject({ granted: 1 });
});

test("one in which this process holds more than a page is not read each time", async () => {
  const { clock, reserve, sweep } = setUp(() => true);
  const ids = Array.from({ length: shards * 60 }, (_, n) => `held-${n}`);
  for (const id of ids) await reserve(id, { inMs: -1_001 });
  expect((await sweep()).shards).toBeGreaterThan(shards);
  clock.time += 2_999;
  expect(await sweep()).toMatchObject({ granted: 0, shards: 0 });
});

test("after the clock was set back, all are read", async () => {
  const { clock, reserve, sweep } = setUp();
  await reserve("later", { inMs: 60_000 });
  await sweep();
  clock.time -= 1;
  expect(await sweep()).toMatchObject({ shards });
});
