/** Tests the summary of a revision against one that is computed in the simplest way. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bulkGrantRef } from "../../../src/bulk-grants/ports/records.ts";
import type { BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import type { Overlap } from "../../../src/bulk-grants/rules/bulk-grant-summary.ts";
import { rowsPerBlock } from "../../../src/bulk-grants/rules/sheet.ts";
import { getSummary, storeSummary } from "../../../src/bulk-grants/use-cases/summarize.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { openStore, start } from "../../support/fixtures/bulk-steps.ts";
import { answerTo, programId, type Raw } from "../../support/models/bulk-use-cases.ts";
import { assertSeeds } from "../../support/models/seeded.ts";
import { commonOf, rightOf, summaryOf } from "../../support/models/summary-oracle.ts";

const blocksOf = (rows: readonly Raw[]) => Math.ceil(rows.length / rowsPerBlock);

async function submit(deps: Deps, id: string, rows: readonly Raw[]): Promise<void> {
  const answer = await answerTo(deps, {
    op: "submit",
    id,
    by: "ann",
    rows,
    executeTime: undefined,
  });
  expect(answer).not.toHaveProperty("refused");
}

/** Validates all blocks, each twice, from the last to the first. */
async function validate(deps: Deps, id: string, revision: number, rows: readonly Raw[]) {
  for (let from = blocksOf(rows) - 1; from >= 0; from--) {
    const block = { id, revision, from, to: blocksOf(rows), limit: 1 };
    await answerTo(deps, { op: "validate", ...block });
    await answerTo(deps, { op: "validate", ...block, to: from + 1 });
  }
  return answerTo(deps, { op: "complete", id, revision });
}

async function run(deps: Deps, id: string, revision: number, rows: readonly Raw[]): Promise<void> {
  await start(deps, id, revision);
  const { run } = await recordOf(deps, id);
  await answerTo(deps, { op: "run", id, revision, run, from: 0, to: blocksOf(rows), limit: 99 });
  await answerTo(deps, { op: "finish", id, run });
}

async function recordOf(deps: Deps, id: string): Promise<BulkGrant> {
  const [record] = await deps.reader.many([bulkGrantRef(programId, id)]);
  return record as BulkGrant;
}

const read = (deps: Deps, id: string, revision = 0) =>
  getSummary(deps, { programId, bulkGrantId: id }, revision);

const rowsOf = (count: number, row: (i: number) => Partial<Raw> = () => ({})): Raw[] =>
  Array.from({ length: count }, (_, i) => ({ userId: `u${i}`, points: 10, reason: "", ...row(i) }));

const row = fc.record({
  userId: fc.nat(700).map((user) => `u${user}`),
  points: fc.oneof(fc.nat(3), fc.integer({ min: 1, max: 10 ** 9 })),
  reason: fc.oneof(
    fc.nat(14).map((reason) => "理由".repeat(reason)),
    fc.tuple(fc.nat(14), fc.nat(40)).map(([reason, day]) => `${"日".repeat(reason)}${day}`),
    fc.nat(40).map((day) => `日${day}`.replaceAll("1", "１")),
  ),
});
const sheet = fc
  .array(row, { minLength: 1, maxLength: 2 * rowsPerBlock + 1, size: "max" })
  // Sizes at the ends of blocks are tried as well as any other one.
  .chain((rows) =>
    fc.constantFrom(rows, ...[249, 250, 251, 500, 501].map((size) => rows.slice(0, size))),
  );
const rightSheet = sheet.map(rightOf).filter((rows) => rows.length > 0);

test("the summary says what is in the sheets, whatever they have in common", async () => {
  const frozen = fc.uniqueArray(
    fc.nat(700).map((user) => `u${user}`),
    { maxLength: 60 },
  );
  const property = fc.asyncProperty(
    fc.record({ granted: rightSheet, waiting: rightSheet, before: sheet, now: sheet, frozen }),
    async ({ granted, waiting, before, now, frozen }) => {
      const { deps } = await openStore();
      await submit(deps, "granted", granted);
      await validate(deps, "granted", 1, granted);
      await submit(deps, "waiting", waiting);
      await validate(deps, "waiting", 1, waiting);
      for (const userId of frozen) await answerTo(deps, { op: "freeze", userId });
      await run(deps, "granted", 1, granted);
      await submit(deps, "b", before);
      await validate(deps, "b", 1, before);
      await answerTo(deps, { op: "reject", id: "b", by: "ben" });
      await answerTo(deps, {
        op: "submit",
        id: "b",
        by: "ann",
        rows: now,
        executeTime: undefined,
        replaces: 1,
      });
      await validate(deps, "b", 2, now);

      const ofGranted = granted.filter(({ userId }) => !frozen.includes(userId));
      const accounts = new Set([...frozen, ...ofGranted.map(({ userId }) => userId)]);
      const users = rightOf(now).map(({ userId }) => userId);
      const overlaps = [
        { bulkGrantId: "granted", ...commonOf(now, ofGranted) },
        { bulkGrantId: "waiting", ...commonOf(now, waiting) },
      ].filter(({ sameUserCount }) => sameUserCount > 0);
      const { summary } = await read(deps, "b");
      expect(summary).toMatchObject(summaryOf(now, before));
      expect(summary).toMatchObject({
        withoutAccountCount: users.filter((userId) => !accounts.has(userId)).length,
        frozenCount: users.filter((userId) => frozen.includes(userId)).length,
        comparedCount: ofGranted.length > 0 ? 2 : 1,
      });
      expect(summary.overlaps).toHaveLength(overlaps.length);
      expect(summary.overlaps).toEqual(
        expect.arrayContaining(overlaps.map((overlap) => expect.objectContaining(overlap))),
      );
      const first = await read(deps, "b", 1);
      expect(first.summary).toMatchObject(summaryOf(before, undefined));
      expect(first.summary).not.toHaveProperty("difference");
    },
  );
  await assertSeeds(property, [{ seed: 24, numRuns: 12 }]);
});

test.each([
  ["誕生日 #", "誕生日 1", "誕生日 31", "誕生日 ３１"],
  ["#ポイント", "1,000ポイント", "500ポイント", "１，０００ポイント", "1.5ポイント"],
  ["#-#-#", "2026-11-01", "2026-12-24"],
  ["##", "#1", "#22"],
])("reasons that differ only in their numbers are %s", async (pattern, ...reasons) => {
  const { deps } = await openStore();
  const alone = ["#ポイント?", "誕生日 #", "誕生日", "day 7", "第三回", "第四回"];
  const all = [...alone, ...reasons];
  const rows = rowsOf(2 * all.length, (i) => ({
    points: 1,
    reason: all[i % all.length] as string,
  }));
  await submit(deps, "b", rows);
  await validate(deps, "b", 1, rows);
  const { reasons: totals, ...summary } = (await read(deps, "b")).summary;
  const group = { reason: pattern, variantCount: reasons.length };
  const count = 2 * reasons.length;
  expect(totals).toEqual([
    { ...group, rowCount: count, points: count },
    ...alone.map((reason) => ({ reason, rowCount: 2, points: 2 })),
  ]);
  expect(summary).not.toHaveProperty("otherReasons");
});

test("the ten groups of reasons with the most points are named, the others counted", async () => {
  const { deps } = await openStore();
  const letters = [..."abcdefghij"];
  const rows = [
    ...rowsOf(10, (i) => ({ points: 1_000 - i, reason: letters[i] as string })),
    ...rowsOf(31, (i) => ({ userId: `d${i}`, reason: `誕生日 ${i + 1}` })),
    ...rowsOf(5, (i) => ({ userId: `e${i}`, points: 300, reason: `月 ${i + 1}` })),
  ];
  await submit(deps, "b", rows);
  await validate(deps, "b", 1, rows);
  const { summary } = await read(deps, "b");
  expect(summary.reasons.map(({ reason }) => reason)).toEqual([
    ...["月 #", "a", "b", "c", "d", "e", "f", "g", "h", "i"],
  ]);
  expect(summary.reasons[0]).toMatchObject({ variantCount: 5, rowCount: 5, points: 1_500 });
  expect(summary.otherReasons).toEqual({ reasonCount: 32, rowCount: 32, points: 991 + 310 });
});

describe("a summary", () => {
  test("finds a sheet behind thousands of newer requests", async () => {
    const { deps } = await openStore();
    const rows = rowsOf(3);
    await submit(deps, "a", rows);
    await validate(deps, "a", 1, rows);
    const record = await recordOf(deps, "a");
    const request = { userId: "u0", reason: "" };
    const asked = { ...record, bulkGrantId: "r", revision: { ...record.revision, request } };
    const bulkGrants: Deps["reader"]["bulkGrants"] = (filter, { size, cursor = "0" }) =>
      Number(cursor) < 4_900
        ? Promise.resolve({ items: Array(size).fill(asked), cursor: `${Number(cursor) + size}` })
        : deps.reader.bulkGrants(filter, { size, cursor: undefined });
    await submit(deps, "b", rows);
    await validate({ ...deps, reader: { ...deps.reader, bulkGrants } }, "b", 1, rows);
    expect((await read(deps, "b")).summary).toMatchObject({
      ...{ comparedCount: 1, overlaps: [{ bulkGrantId: "a", sameUserCount: 3 }] },
    });
  });

  test("is not changed by an attempt that comes late", async () => {
    const { deps } = await openStore();
    const rows = rowsOf(3);
    await submit(deps, "b", rows);
    const validating = await recordOf(deps, "b");
    await validate(deps, "b", 1, rows);
    const { summary } = await read(deps, "b");
    await submit(deps, "later", rows);
    const accounts = { withoutAccountCount: 0, frozenCount: 3, hasAccount: new Uint8Array(3) };
    await storeSummary(deps, validating, accounts, expect.unreachable);
    expect((await read(deps, "b")).summary).toEqual(summary);
    await answerTo(deps, { op: "complete", id: "b", revision: 1 });
    expect((await read(deps, "b")).summary).toEqual(summary);
  });

  test("leaves out the revisions and campaigns whose rows are damaged, and no other", async () => {
    const { deps } = await openStore();
    const rows = rowsOf(20);
    for (const id of ["damaged", "right"]) {
      await submit(deps, id, rows);
      await validate(deps, id, 1, rows);
    }
    await submit(deps, "b", rowsOf(3));
    await validate(deps, "b", 1, rowsOf(3));
    const first = await recordOf(deps, "b");
    await answerTo(deps, { op: "reject", id: "b", by: "ben" });
    await submit(deps, "b", rows);
    const damaged = [first, await recordOf(deps, "damaged")].map((each) => each.revision.uploadId);
    const rowsOfBlock: Deps["reader"]["rowsOfBlock"] = async (uploadId, block) => {
      if (damaged.includes(uploadId)) throw new SyntaxError("no JSON");
      return deps.reader.rowsOfBlock(uploadId, block);
    };
    const reader = { ...deps.reader, rowsOfBlock };
    const head = await validate({ ...deps, reader }, "b", 2, rows);
    expect(head).toMatchObject({ head: { state: "AWAITING_APPROVAL" } });
    const { summary } = await read(deps, "b");
    expect(summary).toMatchObject({ rowCount: 20, comparedCount: 1 });
    expect(summary.overlaps).toMatchObject([{ bulkGrantId: "right", sameUserCount: 20 }]);
    expect(summary).not.toHaveProperty("difference");
  });

  test("is not made while the store is away", async () => {
    const { deps } = await openStore();
    const rows = rowsOf(2);
    await submit(deps, "other", rows);
    await submit(deps, "b", rows);
    const { uploadId } = (await recordOf(deps, "other")).revision;
    const rowsOfBlock: Deps["reader"]["rowsOfBlock"] = async (id, block) => {
      if (id === uploadId) throw new DomainError("STORE_UNAVAILABLE", "no answer");
      return deps.reader.rowsOfBlock(id, block);
    };
    const away = { ...deps, reader: { ...deps.reader, rowsOfBlock } };
    await expect(validate(away, "b", 1, rows)).rejects.toMatchObject({
      reason: "STORE_UNAVAILABLE",
    });
    await validate(deps, "b", 1, rows);
    expect((await read(deps, "b")).summary.comparedCount).toBe(1);
  });

  test("is refused before the end of the validation, and of what does not exist", async () => {
    const { deps } = await openStore();
    await submit(deps, "b", rowsOf(1));
    await expect(read(deps, "b")).rejects.toMatchObject({ reason: "SUMMARY_NOT_FOUND" });
    await validate(deps, "b", 1, rowsOf(1));
    await expect(read(deps, "b", 2)).rejects.toMatchObject({ reason: "SUMMARY_NOT_FOUND" });
    await expect(read(deps, "none")).rejects.toMatchObject({ reason: "BULK_GRANT_NOT_FOUND" });
  });

  test("says when points expire that are granted now, at the execute time or before", async () => {
    const { deps, clock } = await openStore();
    const executeTime = Date.UTC(2026, 2, 1);
    const rows = rowsOf(1);
    await answerTo(deps, { op: "submit", id: "timed", by: "ann", rows, executeTime });
    await validate(deps, "timed", 1, rows);
    await submit(
      deps,
      "now",
      rowsOf(1, () => ({ points: 7 })),
    );
    await validate(deps, "now", 1, rows);
    const expiry = async (id: string) => new Date((await read(deps, id)).expireTime ?? 0).toJSON();
    // The program's months begin at 15:00 UTC, and points last for twelve of them.
    expect(await expiry("timed")).toBe("2027-02-28T15:00:00.000Z");
    expect(await expiry("now")).toBe("2026-12-31T15:00:00.000Z");
    await run(deps, "now", 1, rows);
    clock.time = Date.UTC(2026, 4, 20);
    expect(await expiry("now")).toBe("2026-12-31T15:00:00.000Z");
    expect(await expiry("timed")).toBe("2027-04-30T15:00:00.000Z");
  });
});

describe("the overlap", () => {
  /** Validates `b` with 20 users, and returns what it has in common with others. */
  async function overlapsOf(deps: Deps, rows = rowsOf(20)) {
    await submit(deps, "b", rows);
    await validate(deps, "b", 1, rows);
    return read(deps, "b");
  }

  test("counts what all revisions of a campaign have granted, each user once", async () => {
    const { deps } = await openStore();
    const first = rowsOf(20);
    await submit(deps, "spring", first);
    await validate(deps, "spring", 1, first);
    await answerTo(deps, { op: "freeze", userId: "u19" });
    await run(deps, "spring", 1, first);
    await answerTo(deps, { op: "unfreeze", userId: "u19" });
    // The exported failed row, and one more that was granted before.
    const next = first.slice(18);
    await submit(deps, "spring", next);
    await validate(deps, "spring", 2, next);
    await run(deps, "spring", 2, next);
    const { summary, warned } = await overlapsOf(deps);
    expect(summary.overlaps).toMatchObject([
      { bulkGrantId: "spring", state: "DONE", sameUserCount: 20, samePointsCount: 20 },
    ]);
    expect(warned).toEqual(summary.overlaps);
  });

  test("counts active campaigns, and neither ended ones without grants nor reversals", async () => {
    const { deps } = await openStore();
    const rows = rowsOf(20, () => ({ points: 11 }));
    for (const id of ["awaiting", "rejected", "validating"]) {
      await submit(deps, id, rows);
      if (id !== "validating") await validate(deps, id, 1, rows);
    }
    await answerTo(deps, { op: "reject", id: "rejected", by: "ben" });
    const { summary } = await overlapsOf(deps);
    const common = { sameUserCount: 20, samePointsCount: 0 };
    expect(summary.comparedCount).toBe(2);
    expect(summary.overlaps).toMatchObject([
      { bulkGrantId: "validating", state: "VALIDATING", ...common },
      { bulkGrantId: "awaiting", state: "AWAITING_APPROVAL", ...common },
    ]);
  });

  test("with a reversed campaign, or with few users, is no warning", async () => {
    const { deps } = await openStore();
    const rows = rowsOf(20);
    await submit(deps, "wrong", rows);
    await validate(deps, "wrong", 1, rows);
    await run(deps, "wrong", 1, rows);
    const reversal = { op: "reverse", id: "back", by: "ann", reverses: "wrong" } as const;
    await answerTo(deps, { ...reversal, executeTime: undefined });
    await validate(deps, "back", 1, rows);
    expect((await read(deps, "back")).summary.comparedCount).toBe(0);
    await run(deps, "back", 1, rows);
    await submit(deps, "few", rowsOf(1));
    const { summary, warned } = await overlapsOf(deps);
    expect(
      summary.overlaps.map(({ reversalId, ...each }) => [each.bulkGrantId, reversalId]),
    ).toEqual([
      ["wrong", "back"],
      ["few", undefined],
    ]);
    expect(warned).toEqual<Overlap[]>([]);
  });

  test("is looked for in the five newest campaigns of the last 90 days", async () => {
    const { deps, clock } = await openStore();
    const rows = rowsOf(2);
    await submit(deps, "old", rows);
    clock.time += 91 * 24 * 3_600_000;
    expect((await overlapsOf(deps, rows)).summary.comparedCount).toBe(0);
    for (const id of ["c1", "c2", "c3", "c4", "c5", "c6"]) {
      clock.time += 1_000;
      await submit(deps, id, rows);
    }
    await validate(deps, "c6", 1, rows);
    const { summary } = await read(deps, "c6");
    expect(summary.comparedCount).toBe(5);
    expect(summary.overlaps.map(({ bulkGrantId }) => bulkGrantId)).toEqual([
      ...["c5", "c4", "c3", "c2", "c1"],
    ]);
  });
});
