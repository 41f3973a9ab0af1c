/** Tests the records of bulk grants, their lists, and the rows of uploads by block. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { BlockCheck, BlockOutcome } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import {
  blockCheckRef,
  blockOutcomeRef,
  bulkContentRef,
  bulkGrantRef,
  bulkRevisionRef,
  revisionContentRef,
} from "../../../src/bulk-grants/ports/records.ts";
import type { BulkGrant, BulkGrantState } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import type { SheetRow } from "../../../src/bulk-grants/rules/sheet.ts";
import {
  bulkGrantOf,
  newUpload,
  putBulkGrant,
  revisionOf,
  rowsFrom,
} from "../../support/fixtures/bulk-records.ts";
import { largestBlock, largestBulkRecords } from "../../support/fixtures/largest-bulk-records.ts";
import { range } from "../../support/fixtures/stored-reactions.ts";
import { type OpenStore, openMemory as open } from "../../support/stores/both-stores.ts";
import { fill, pages, rejection, write } from "../../support/stores/records.ts";

const newProgram = () => `p-${randomUUID()}`;
const time = 1_790_000_000_000;

describe("records of bulk grants", () => {
  test("the largest ones are read as they were written", async () => {
    const { store, reader } = open();
    await fill(
      store,
      largestBulkRecords.map(([, ref, value]) => write(ref, value)),
    );
    for (const [what, ref, value] of largestBulkRecords) {
      expect(await reader.get(ref), what).toEqual({ value, version: 1 });
    }
    const refs = largestBulkRecords.map(([, ref]) => ref);
    expect(await reader.many(refs)).toEqual(largestBulkRecords.map(([, , value]) => value));
  });

  test("ones without anything that may be absent are read as they were written", async () => {
    const { store, reader } = open();
    const uploadId = newUpload();
    const row = bulkGrantOf(newProgram());
    const { programId, bulkGrantId } = row;
    const check: BlockCheck = {
      revision: 1,
      alreadyGranted: [],
      alreadyGrantedPoints: 0,
      withoutAccount: [0, 1],
      withoutAccountCount: 2,
      frozenCount: 1,
      problems: [],
    };
    const outcome: BlockOutcome = { run: 1, grantedCount: 0, grantedPoints: 0, failures: [] };
    const writes = [
      putBulkGrant(row),
      write(bulkRevisionRef(programId, bulkGrantId, 1), revisionOf(uploadId)),
      write(bulkContentRef(programId, "digest"), { bulkGrantId }),
      write(revisionContentRef(programId, bulkGrantId, "hash"), { revision: 1 }),
      write(blockCheckRef(uploadId, 0), check),
      write(blockOutcomeRef(uploadId, 0), outcome),
    ];
    await fill(store, writes);
    for (const { ref, value } of writes) {
      expect(await reader.get(ref)).toStrictEqual({ value, version: 1 });
    }
  });
});

describe("lists of bulk grants", () => {
  interface Filter {
    readonly state?: BulkGrantState;
    readonly start?: number;
    readonly end?: number;
  }

  /** Sets up bulk grants of one program with rising create times and two states. */
  async function setUp() {
    const { store, reader } = open();
    const programId = newProgram();
    const rows = range(0, 9).map((i) =>
      bulkGrantOf(programId, {
        // The last two have the same time: they are listed by their ids.
        createTime: i === 9 ? time + 8_000 : time + i * 1_000,
        bulkGrantId: `b-${9 - i}${i === 9 ? "" : "x"}`,
        state: i % 3 === 0 ? "RUNNING" : "DONE",
      }),
    );
    const strangers = [bulkGrantOf(`${programId}x`), bulkGrantOf(newProgram())];
    await fill(
      store,
      [...rows, ...strangers].map((row) => putBulkGrant(row)),
    );
    const key = (row: BulkGrant) => `${row.createTime}#${row.bulkGrantId}`;
    const newest = rows.toSorted((a, b) => (key(a) < key(b) ? 1 : -1));
    const list = async ({ state, start, end }: Filter, size: number) => {
      const filter = { programId, state, start, end };
      return (await pages((page) => reader.bulkGrants(filter, page), size)).flat();
    };
    expect(await list({}, 100)).toEqual(newest);
    return { store, reader, programId, newest, list };
  }

  test("in a window that includes its start and excludes its end", async () => {
    const { newest, list } = await setUp();
    const windows: [number | undefined, number | undefined][] = [
      [time + 2_000, time + 5_000],
      [undefined, time + 1_000],
      [time + 8_000, undefined],
      [time + 8_001, undefined],
      [time + 3_000, time + 3_001],
      [time + 3_000, time + 3_000],
      [time + 5_000, time + 3_000],
    ];
    for (const [start, end] of windows) {
      const within = newest.filter(
        ({ createTime }) =>
          createTime >= (start ?? 0) && createTime < (end ?? Number.POSITIVE_INFINITY),
      );
      const window = { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
      expect(await list(window, 2)).toEqual(within);
      const running = within.filter(({ state }) => state === "RUNNING");
      expect(await list({ ...window, state: "RUNNING" }, 2)).toEqual(running);
    }
  });

  test("that are active or to be counted again, of all programs", async () => {
    const { store, reader, programId, newest } = await setUp();
    const active = async () => {
      const found = (await pages((page) => reader.activeBulkGrants(page), 2)).flat();
      return found.filter((each) => each.programId === programId).map((each) => each.bulkGrantId);
    };
    const running = newest.filter(({ state }) => state === "RUNNING");
    const idsOf = (rows: readonly BulkGrant[]) => rows.map(({ bulkGrantId }) => bulkGrantId);
    expect((await active()).toSorted()).toEqual(idsOf(running).toSorted());
    const [first, ...others] = running as [BulkGrant, ...BulkGrant[]];
    const ref = bulkGrantRef(programId, first.bulkGrantId);
    await fill(store, [write(ref, { ...first, state: "CANCELLED", countsFinalTime: 1 }, 1)]);
    expect((await active()).toSorted()).toEqual(idsOf(running).toSorted());
    await fill(store, [write(ref, { ...first, state: "CANCELLED" }, 2)]);
    expect((await active()).toSorted()).toEqual(idsOf(others).toSorted());
  });

  test("the cursor of another list is refused", async () => {
    const { reader, programId } = await setUp();
    const window = { start: undefined, end: undefined };
    const running = { programId, state: "RUNNING" as const, ...window };
    const { cursor } = await reader.bulkGrants(running, { size: 1, cursor: undefined });
    expect(cursor).toBeDefined();
    for (const filter of [
      { programId, state: "DONE" as const, ...window },
      { programId: newProgram(), state: undefined, ...window },
    ]) {
      const error = await rejection(reader.bulkGrants(filter, { size: 1, cursor }));
      expect(error).toMatchObject({ reason: "INVALID_REQUEST" });
    }
  });
});

describe("the rows of an upload", () => {
  test("are read by block as they were written; a block that does not exist is empty", async () => {
    const { reader, sheets } = open();
    const uploadId = newUpload();
    const odd: SheetRow[] = [
      { line: 2, userId: "", points: 0, reason: "", problems: [{ code: "USER_MISSING" }] },
      { line: 4, userId: '"\\\u0001\u2028', points: 1, reason: "# 🎁 \n\t" },
      { line: 9, userId: "ann", points: 10 ** 9, reason: "r" },
      {
        line: 200_001,
        userId: "bob",
        points: 0,
        reason: "",
        rawPoints: "",
        problems: [{ code: "POINTS_MALFORMED", detail: "" }, { code: "REASON_MALFORMED" }],
      },
      { line: 7, userId: "bob", points: 0, reason: "", rawPoints: "1e3" },
    ];
    await sheets.putBlock(uploadId, 0, odd);
    await sheets.putBlock(uploadId, 799, largestBlock);
    await sheets.putBlock(`${uploadId}x`, 1, rowsFrom(2, 3));
    // A block is written again when the answer of the first write was lost.
    await sheets.putBlock(uploadId, 0, odd);
    expect(await reader.rowsOfBlock(uploadId, 0)).toStrictEqual(odd);
    expect(await reader.rowsOfBlock(uploadId, 799)).toStrictEqual(largestBlock);
    expect(await reader.rowsOfBlock(`${uploadId}x`, 1)).toStrictEqual(rowsFrom(2, 3));
    expect(await reader.rowsOfBlock(uploadId, 1)).toEqual([]);
    expect(await reader.rowsOfBlock(newUpload(), 0)).toEqual([]);
  });

  /** The check and the outcome of a block, with so many rows with a problem. */
  const madeOf = (block: number, count: number) => {
    const failures = range(0, count - 1).map((index) => ({
      index,
      code: "LIMIT_EXCEEDED" as const,
      detail: `block ${block}`.padEnd(250, "."),
    }));
    const check: BlockCheck = {
      revision: block + 1,
      alreadyGranted: [block],
      alreadyGrantedPoints: block * 7,
      withoutAccount: [block],
      withoutAccountCount: 2,
      frozenCount: 1,
      problems: failures,
    };
    const outcome: BlockOutcome = {
      run: 1,
      grantedCount: block,
      grantedPoints: block * 9,
      failures,
    };
    return { check, outcome };
  };

  const putMade = async ({ store }: OpenStore, uploadId: string, blocks: number[], count: number) =>
    fill(
      store,
      blocks.flatMap((block) => {
        const { check, outcome } = madeOf(block, count);
        return [
          write(blockCheckRef(uploadId, block), check),
          write(blockOutcomeRef(uploadId, block), outcome),
        ];
      }),
    );

  test("a list of more than 1 MB is complete", async () => {
    const opened = open();
    const uploadId = newUpload();
    const blocks = range(0, 17);
    await putMade(opened, uploadId, blocks.slice(0, 9), 250);
    await putMade(opened, uploadId, blocks.slice(9), 250);
    const read = (page: { size: number; cursor: string | undefined }) =>
      opened.reader.blockOutcomes(uploadId, page);
    const found = (await pages(read, 1_000)).flat();
    expect(found).toEqual(blocks.map((block) => ({ ...madeOf(block, 250).outcome, block })));
  });

  test("are deleted with what was found and done, and nothing else is", async () => {
    const opened = open();
    const { reader, sheets } = opened;
    const [uploadId, kept] = [newUpload(), newUpload()];
    // 30 items take more than one batch, and the largest blocks more than one page.
    for (const block of range(0, 5)) await sheets.putBlock(uploadId, block, largestBlock);
    for (const block of range(6, 19)) await sheets.putBlock(uploadId, block, rowsFrom(2, 3));
    await putMade(opened, uploadId, range(0, 4), 1);
    await sheets.putBlock(kept, 0, rowsFrom(2, 3));
    await putMade(opened, kept, [0], 1);
    // A delete is repeated when its answer was lost.
    for (let i = 0; i < 2; i++) await sheets.deleteRows(uploadId);
    await sheets.deleteRows(newUpload());
    const first = { size: 10, cursor: undefined };
    for (const block of range(0, 19)) {
      expect(await reader.rowsOfBlock(uploadId, block)).toEqual([]);
    }
    expect((await reader.blockChecks(uploadId, first)).items).toEqual([]);
    expect((await reader.blockOutcomes(uploadId, first)).items).toEqual([]);
    expect(await reader.get(blockOutcomeRef(uploadId, 0))).toBeUndefined();
    expect(await reader.rowsOfBlock(kept, 0)).toEqual(rowsFrom(2, 3));
    expect((await reader.blockChecks(kept, first)).items).toHaveLength(1);
    expect((await reader.blockOutcomes(kept, first)).items).toHaveLength(1);
  });
});
