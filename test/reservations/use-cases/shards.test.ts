/** Tests that every reservation and hold is met while the shards of its program become more. */
import { expect, test } from "vitest";
import { addShards } from "../../../src/points/rules/program.ts";
import { createProgramCache } from "../../../src/points/runtime/program-cache.ts";
import { changeProgram } from "../../../src/points/use-cases/programs/change-program.ts";
import { allShards } from "../../../src/reservations/use-cases/all-reservations.ts";
import { cancelReservations } from "../../../src/reservations/use-cases/cancel-reservations.ts";
import { dueProgramIds, endDueHours } from "../../../src/reservations/use-cases/due-programs.ts";
import { listReservations } from "../../../src/reservations/use-cases/queries.ts";
import {
  change,
  createReservationFixture,
  programId,
} from "../../support/fixtures/memory-reservations.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";

const hour = 3_600_000;
const everything = { start: undefined, end: undefined };
const noFailure = (_: unknown, error: unknown) => expect.unreachable(String(error));

/** Reservations of an hour from now on, made with 16, 64 and 256 shards; and a slower server. */
async function setUp() {
  const fixture = createReservationFixture();
  const { deps, reserve } = fixture;
  const other = { ...deps, programs: createProgramCache(deps.reader) };
  const ids: string[] = [];
  for (const shards of [16, 64, 256]) {
    await changeProgram(deps, { programId }, (program) => addShards(program, shards));
    await deps.programs.read(programId);
    if (shards === 16) await other.programs.read(programId);
    for (let i = 0; i < 60; i++) {
      const id = `r-${shards}-${i}`;
      await reserve(id, { inMs: hour + ids.length * 1_000 });
      ids.push(id);
    }
  }
  return { ...fixture, other, ids };
}

test("a list by state has those of all shards in order, also where the copy is old", async () => {
  const { deps, other, ids } = await setUp();
  expect((await other.programs.get(programId)).reservationShardCount).toBeUndefined();
  const state = { state: "PENDING" } as const;
  for (const size of [1, 7, 50, 200]) {
    const found = await allItems(
      (page) => listReservations(other, programId, state, everything, page),
      size,
    );
    expect(found.map(({ reservation }) => reservation.reservationId)).toEqual(ids);
  }
  const shards = allShards(await deps.programs.get(programId));
  expect(shards).toHaveLength(256 + 64);
  let used = 0;
  for (const { state, shard } of shards) {
    if (state === "HELD") continue;
    const page = { size: 1, cursor: undefined };
    used += (await deps.reader.pendingInShard(programId, shard, everything, page)).items.length;
  }
  expect(used).toBeGreaterThan(64);
});

test("all are cancelled by one filter, also where the copy is old", async () => {
  const { clock, other, ids } = await setUp();
  const filter = { reasonPrefix: "test", start: clock.time, end: clock.time + 24 * hour };
  const request = { ...change, filter, cursor: undefined };
  const { cancelled, errors } = await cancelReservations(other, request, noFailure);
  expect([cancelled.length, errors]).toEqual([ids.length, []]);
});

test("all are granted by sweeps, and their hours stay until they are", async () => {
  const { clock, deps, other, ids, recordOf } = await setUp();
  clock.time += 3 * hour;
  await endDueHours(other, noFailure);
  expect(await dueProgramIds(deps, clock.time)).toEqual([programId]);
  expect(await sweepAll(deps)).toMatchObject({ granted: ids.length, failed: 0 });
  expect(await recordOf("r-64-3")).toMatchObject({ state: "DONE", reservationShardCount: 64 });
  await endDueHours(other, noFailure);
  expect(await dueProgramIds(deps, clock.time)).toEqual([]);
});
