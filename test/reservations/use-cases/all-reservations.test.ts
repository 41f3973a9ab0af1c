/** Tests how the pending reservations and the holds of all programs are read. */
import { describe, expect, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { leastReservationShards } from "../../../src/points/rules/program.ts";
import { readAllPrograms } from "../../../src/points/use-cases/programs/queries.ts";
import { allShards, recordPages } from "../../../src/reservations/use-cases/all-reservations.ts";
import { createReservationFixture } from "../../support/fixtures/memory-reservations.ts";
import { idOf } from "../../support/fixtures/record-names.ts";

describe("the pages of pending records", () => {
  test("have each record once, in one read of each shard", async () => {
    const { deps, reserve, addProgram } = createReservationFixture();
    addProgram("q");
    const ids = Array.from({ length: 300 }, (_, i) => `r-${i}`);
    for (const id of ids) await reserve(id, { inMs: 60_000 });
    await reserve("r-0", { programId: "q" });
    const read = vi.fn(deps.reader.pendingInShard);
    const programs = vi.fn(() => readAllPrograms(deps));
    const page = recordPages(
      { reader: { ...deps.reader, pendingInShard: read } },
      {
        programs,
        isWanted: () => true,
      },
    );
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { items, cursor: next } = await page(cursor);
      found.push(...items.map((record) => `${record.programId} ${idOf(record)}`));
      cursor = next;
    } while (cursor !== undefined);
    expect(found.toSorted()).toEqual([...ids.map((id) => `p ${id}`), "q r-0"].toSorted());
    expect(read).toHaveBeenCalledTimes(2 * leastReservationShards);
    expect(programs).toHaveBeenCalledTimes(1);
  });

  test("are read of 16 shards at once, and an outage fails the read that comes to it", async () => {
    const { deps, addProgram } = createReservationFixture();
    for (const id of ["q", "r"]) addProgram(id);
    let running = 0;
    let most = 0;
    const reader: Deps["reader"] = {
      ...deps.reader,
      async pendingInShard(of, shard, window, options) {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        if (of === "q" && shard === 3) {
          throw new DomainError("STORE_UNAVAILABLE", "away");
        }
        return deps.reader.pendingInShard(of, shard, window, options);
      },
    };
    const programs = () => readAllPrograms(deps);
    const page = recordPages({ reader }, { programs, isWanted: () => true });
    let cursor: string | undefined;
    let pages = 0;
    const readAll = async () => {
      do {
        ({ cursor } = await page(cursor));
        pages += 1;
      } while (cursor !== undefined);
    };
    await expect(readAll()).rejects.toThrow("away");
    expect(most).toBe(16);
    // Those of the first program, and three shards of the second one.
    expect(pages).toBe(allShards({}).length + 3);
  });
});
