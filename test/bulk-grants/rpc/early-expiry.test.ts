/** Tests bulk grants whose points end early: of the whole sheet, of rows, and opening balances. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BulkGrant_State as State } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  type EventName,
  EventOrigin,
  LedgerEntry_Type,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import {
  auditOf,
  completeCheck,
  endMessage,
  grantRows,
  headerMessage,
  rowsMessage,
  uploadCsv,
  uploadMessages,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { at, reasonOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-11-10T12:00:00+09:00") });
});
afterAll(() => server.stop());

const sheet = (...lines: string[]) =>
  ["user_id,points,reason,expire_month", ...lines, ""].join("\n");

/** What a user has, as `2027-01: 5` for each end of points. */
async function ends(userId: string): Promise<string[]> {
  const { balance } = await server.points.getBalance({ userId });
  return (balance?.buckets ?? []).map(({ points, expireTime }) => {
    const last = expireTime && timestampDate(expireTime).getTime() - 1;
    return `${new Date((last ?? 0) + 9 * 3_600_000).toISOString().slice(0, 7)}: ${points}`;
  });
}

/** Submits a sheet and checks its rows. */
async function submit(bulkGrantId: string, csv: string, expireMonth = "") {
  const answer = await uploadCsv(server, { bulkGrantId, expireMonth }, csv);
  return { ...answer, checked: await completeCheck(server, bulkGrantId) };
}

test("a row's month wins over that of the bulk grant, and both reach the accounts", async () => {
  const csv = sheet("own,5,,2027-01", "bulk,6,,", "last,7,,2027-10");
  const { checked } = await submit("both", csv, "2027-03");
  expect(checked).toMatchObject({
    state: State.AWAITING_APPROVAL,
    expireMonth: "2027-03",
    hasExpireMonths: true,
  });
  const { summary } = await server.bulkGrants.getBulkGrantSummary({ bulkGrantId: "both" });
  expect(
    summary?.expireMonths.map(({ expireMonth, rowCount, points }) => [
      expireMonth,
      rowCount,
      points,
    ]),
  ).toEqual([
    ["2027-01", 1, 5n],
    ["2027-03", 1, 6n],
    ["2027-10", 1, 7n],
  ]);
  expect(summary?.expireTime && timestampDate(summary.expireTime).toISOString()).toBe(
    "2027-03-31T15:00:00.000Z",
  );
  const { revisions } = await server.bulkGrants.listBulkGrantRevisions({ bulkGrantId: "both" });
  expect(revisions.map(({ expireMonth }) => expireMonth)).toEqual(["2027-03"]);
  const { rows } = await server.bulkGrants.listBulkGrantRows({ bulkGrantId: "both" });
  expect(rows.map(({ expireMonth }) => expireMonth)).toEqual(["2027-01", "", "2027-10"]);
  await grantRows(server, "both");
  expect(await Promise.all(["own", "bulk", "last"].map(ends))).toEqual([
    ["2027-01: 5"],
    ["2027-03: 6"],
    ["2027-10: 7"],
  ]);
  const audited = (await auditOf(server, "both")).trimEnd().split("\r\n").slice(1);
  expect(audited.map((line) => line.split(",").slice(2, 6).join())).toEqual([
    '"own","5","","2027-01"',
    '"bulk","6","","2027-03"',
    '"last","7","","2027-10"',
  ]);
});

test("a sheet with an empty column is the same as one without it", async () => {
  const plain = await submit("plain", "user_id,points,reason\nu,5,a\n");
  const empty = await submit("empty", sheet("u,5,a,"));
  expect(empty.bulkGrant?.rowsDigest).toBe(plain.bulkGrant?.rowsDigest);
  expect(empty.bulkGrant).toMatchObject({
    sameContentBulkGrantId: "plain",
    hasExpireMonths: false,
  });
});

test("rows with a wrong month are named, in a check and in the validation", async () => {
  const csv = sheet("a,5,,2026-10", "b,5,,2027-11", "c,5,,Jan-27", "d,5,, 2026-11 ");
  const content = { case: "csv", value: Buffer.from(csv) } as const;
  const { check } = await server.bulkGrants.checkSheet({ bulkGrantId: "wrong", content });
  const expected = [
    [2, "MONTH_OUT_OF_RANGE"],
    [3, "MONTH_OUT_OF_RANGE"],
    [4, "MONTH_MALFORMED"],
  ];
  expect(check?.problems.map(({ line, code }) => [line, code])).toEqual(expected);
  expect(check?.problems[0]?.message).toBe(
    "expire_month: 2026-10 is over; points can expire at the end of 2026-11 to 2027-10",
  );
  const { checked } = await submit("wrong", csv);
  expect([checked.state, checked.invalidCount]).toEqual([State.INVALID, 3]);
  const { rows } = await server.bulkGrants.listBulkGrantRows({ bulkGrantId: "wrong" });
  const wrong = rows.slice(0, 3).flatMap(({ problems }) => problems);
  expect(wrong.map(({ line, code }) => [line, code])).toEqual(expected);
  let failed = "";
  for await (const { csvChunk } of server.bulkGrants.exportFailedBulkGrantRows({
    bulkGrantId: "wrong",
  })) {
    failed += Buffer.from(csvChunk).toString();
  }
  expect(failed).toContain('"c","5","","Jan-27","wrong","1","4","MONTH_MALFORMED"');
  const all = await server.bulkGrants.checkSheet({
    bulkGrantId: "all",
    content: { case: "csv", value: Buffer.from("user_id,points\na,5\n") },
    expireMonth: "2026-10",
  });
  expect(all.check?.problemCounts).toMatchObject([{ code: "MONTH_OUT_OF_RANGE", rowCount: 1 }]);
});

test("a month that ends before the run makes the row fail, and nothing else of it", async () => {
  await submit("late", sheet("late,5,,2026-11", "kept,6,,2026-12"));
  await grantRows(server, "late", "mika", async () => {
    await server.clock.setTime({ time: at("2026-12-01T00:00:00+09:00") });
  });
  const { rows } = await server.bulkGrants.listBulkGrantRows({ bulkGrantId: "late" });
  expect(rows.map(({ problems }) => problems.map(({ code }) => code))).toEqual([
    ["LIMIT_EXCEEDED"],
    [],
  ]);
  expect(rows[0]?.problems[0]?.message).toContain("2026-11 is over");
  expect([await ends("late"), await ends("kept")]).toEqual([[], ["2026-12: 6"]]);

  // A corrected sheet grants the row that has failed; with another month, a granted one is wrong.
  const wrong = await submit("late", sheet("late,5,,2027-01", "kept,6,,2027-01"));
  expect(wrong.checked).toMatchObject({ state: State.INVALID, invalidCount: 1 });
  const found = await server.bulkGrants.listBulkGrantRows({ bulkGrantId: "late" });
  expect(found.rows[1]?.problems.map(({ code }) => code)).toEqual(["MONTH_DIFFERS"]);
  const right = await submit("late", sheet("late,5,,2027-01", "kept,6,,2026-12"));
  expect(right.checked).toMatchObject({ invalidCount: 0, alreadyGrantedCount: 1 });
  await grantRows(server, "late");
  expect([await ends("late"), await ends("kept")]).toEqual([["2027-01: 5"], ["2026-12: 6"]]);
});

test("rows without a sheet have a month, too, and a request a well-formed one", async () => {
  const rows = [{ userId: "m", points: 5n, expireMonth: "2027-02" }];
  const messages = [headerMessage({ bulkGrantId: "rows" }), rowsMessage(rows), endMessage];
  const { bulkGrant } = await uploadMessages(server, messages);
  const csv = await uploadCsv(server, { bulkGrantId: "csv" }, sheet("m,5,,2027-02"));
  expect(bulkGrant?.rowsDigest).toBe(csv.bulkGrant?.rowsDigest);
  const bad = uploadCsv(server, { bulkGrantId: "bad", expireMonth: "Jan-27" }, sheet("m,5,,"));
  expect(await reasonOf(bad)).toBe("INVALID_REQUEST");
});

test("opening balances: one bulk grant for each month in which points end", async () => {
  await server.clock.setTime({ time: at("2026-12-10T12:00:00+09:00") });
  const balances = {
    "2026-12": ["aoi,120", "ben,5"],
    "2027-03": ["aoi,80"],
    "2027-11": ["aoi,30", "chie,900"],
  };
  for (const [expireMonth, lines] of Object.entries(balances)) {
    const id = `opening-${expireMonth}`;
    const csv = ["user_id,points", ...lines, ""].join("\n");
    const { checked } = await submit(id, csv, expireMonth);
    expect(checked.state).toBe(State.AWAITING_APPROVAL);
    await grantRows(server, id);
    // Sent again, nothing is granted twice.
    const again = await uploadCsv(server, { bulkGrantId: id, expireMonth }, csv);
    expect(again.replayed).toBe(true);
  }
  expect(await ends("aoi")).toEqual(["2026-12: 120", "2027-03: 80", "2027-11: 30"]);
  expect(await ends("ben")).toEqual(["2026-12: 5"]);
  expect(await ends("chie")).toEqual(["2027-11: 900"]);
  await server.clock.setTime({ time: at("2027-01-01T00:00:00+09:00") });
  expect(await ends("aoi")).toEqual(["2027-03: 80", "2027-11: 30"]);
});

test("a reversal leaves what an extension has moved, to which the ledger leads", async () => {
  const { BULK_GRANT, CALLER } = EventOrigin;
  await submit("extended", sheet("ext,5,,2027-02"));
  await grantRows(server, "extended");
  const granted = { origin: BULK_GRANT, eventId: "extended_ext" };
  const call = { userId: "ext", eventId: "apology", expireMonth: "2027-05" };
  await server.points.extendExpiry({ ...call, grantEvent: granted });
  const reversal = { bulkGrantId: "extended-r", reversedBulkGrantId: "extended" };
  await server.bulkGrants.reverseBulkGrant(reversal);
  await completeCheck(server, "extended-r");
  await grantRows(server, "extended-r");
  expect(await ends("ext")).toEqual(["2027-05: 5"]);
  const { entries } = await server.points.listLedgerEntries({ userId: "ext" });
  const moved = entries.find(({ type }) => type === LedgerEntry_Type.EXTENDED);
  expect(moved).toMatchObject({ relatedEvent: granted, event: { origin: CALLER } });
  const grantEvent = moved?.event as EventName;
  await server.points.revokePoints({ userId: "ext", eventId: "back", grantEvent });
  expect(await ends("ext")).toEqual([]);
});
