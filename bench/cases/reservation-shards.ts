/** Measures how many grants of one instant the keys of a program's reservations take a second. */
import { inBatches } from "../../src/platform/ports/pages.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { programRef } from "../../src/points/ports/records.ts";
import { reservationShardCounts } from "../../src/points/rules/program.ts";
import { reservationRef } from "../../src/reservations/ports/records.ts";
import { reservation } from "../../src/reservations/store/codecs/reservations.ts";
import { createReservation } from "../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../src/reservations/use-cases/execute.ts";
import { memoryDeps } from "../../test/support/stores/memory-store.ts";
import type { Benchmark } from "../benchmark.ts";
import { inParallel } from "../support/load.ts";
import { round } from "../support/numbers.ts";

/** The write units a second of a hash key: a partition of its own, once DynamoDB has split it. */
const unitsOfKey = 1_000;

/**
 * Reservations that are due at one instant, on a store that answers at once. What a grant writes to
 * `by-state` is counted by key, so the key that is written most says how soon all are granted.
 */
export const reservationShards: Benchmark = {
  names: ["reservation.shards", "reservation.shards.rate"],
  async run(scale) {
    const count = scale.pick(20_000, 200);
    const rates = new Map<number, number>();
    for (const shards of reservationShardCounts) rates.set(shards, await rateWith(shards, count));
    scale.note(`${count} due at one instant: ${JSON.stringify([...rates])} a second by shards`);
    const [few = 0, more = 0] = rates.values();
    return [
      {
        name: "reservation.shards",
        value: round(more / few),
        unit: `ratio of grants a second with 64 shards, ${count} due at one instant`,
        target: ">= 3",
        baseline: "16 shards",
        counted: true,
      },
      {
        name: "reservation.shards.rate",
        value: round(more),
        unit: "grants a second that the keys of 64 shards take",
        target: ">= 40000",
        baseline: "",
        counted: true,
      },
    ];
  },
};

/** So many records one store in memory holds: it slows down as they become more. */
const recordsOfStore = 2_000;

/** Makes and grants reservations. Returns the grants a second that the keys of the index take. */
export async function rateWith(shards: number, count: number): Promise<number> {
  const units = new Map<string, number>();
  const ids = Array.from({ length: count }, (_, i) => `r-${i}`);
  for (const some of inBatches(ids, recordsOfStore)) await grantAll(shards, some, units);
  return count / (Math.max(...units.values()) / unitsOfKey);
}

/** Makes and grants reservations, and adds what each grant writes to the keys of the index. */
async function grantAll(
  shards: number,
  ids: readonly string[],
  units: Map<string, number>,
): Promise<void> {
  const { deps: memory, store, clock } = memoryDeps();
  const deps = { ...memory, background: () => {} };
  store.force(programRef("p"), {
    programId: "p",
    timeZone: "UTC",
    lifetimes: [{ lifetimeMonths: 12, effectiveTime: 0 }],
    createTime: 0,
    reservationShardCount: shards,
  });
  const caller = asService("bench");
  const executeTime = clock.time + 60_000;
  const nameOf = (id: string) => ({ programId: "p", reservationId: id, userId: id });
  await inParallel(8, ids, (id) =>
    createReservation(deps, { ...nameOf(id), points: 10, executeTime, caller, reason: "" }),
  );
  clock.time = executeTime;
  await inParallel(8, ids, async (id) => {
    const keyOf = async () => {
      const found = await deps.reader.get(reservationRef("p", id));
      return found && reservation.encode(found.value).is?.S;
    };
    const before = await keyOf();
    await executeReservation(deps, nameOf(id));
    // A deletion from one key, and a put to another one, if it is in the index still.
    for (const key of [before, await keyOf()])
      if (key !== undefined) units.set(key, (units.get(key) ?? 0) + 1);
  });
}
