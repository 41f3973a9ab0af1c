/** Tests of the digests, against the texts that their documentation promises. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { SheetRow } from "../../../src/bulk-grants/rules/sheet.ts";
import {
  contentHashOf,
  createRowsDigest,
  digestOf,
} from "../../../src/bulk-grants/use-cases/rows-digest.ts";
import { parseMonth } from "../../../src/platform/words/month.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("base64url");

function rowsDigest(rows: readonly SheetRow[]): string {
  const digest = createRowsDigest();
  for (const row of rows) digest.add(row);
  return digest.digest();
}

const row = { line: 2, userId: "u1", points: 100, reason: 'a "日本"\n' };

test("the digest of rows is that of their JSON lines", () => {
  const other = { ...row, line: 3, userId: "u2", reason: "" };
  expect(rowsDigest([row, other])).toBe(sha256('["u1",100,"a \\"日本\\"\\n"]\n["u2",100,""]\n'));
  expect(rowsDigest([])).toBe(sha256(""));
});

test("the month of a row is in the digest, in a place where no code can be", () => {
  const ending = { ...row, reason: "", expireMonth: "2027-01" };
  expect(rowsDigest([ending])).toBe(sha256('["u1",100,"",{"expire_month":"2027-01"}]\n'));
  const problems = [{ code: "MONTH_MALFORMED" }] as const;
  expect(rowsDigest([{ ...ending, expireMonth: "Jan-27", problems }])).toBe(
    sha256('["u1",100,"",{"expire_month":"Jan-27"},"MONTH_MALFORMED"]\n'),
  );
});

test("a row with problems has their codes and its malformed points in the digest", () => {
  const malformed = { ...row, points: 0, rawPoints: "1e2", reason: "" };
  const problems = [{ code: "USER_TWICE", detail: "2" }, { code: "POINTS_MALFORMED" }] as const;
  expect(rowsDigest([{ ...malformed, problems }])).toBe(
    sha256('["u1","1e2","","USER_TWICE","POINTS_MALFORMED"]\n'),
  );
  const capped = { ...row, problems: [{ code: "POINTS_ABOVE_CAP", detail: "50" }] as const };
  expect(rowsDigest([capped])).not.toBe(rowsDigest([row]));
});

test("the digest of a bulk grant is that of the documented JSON", () => {
  const grant = {
    programId: "p",
    bulkGrantId: "summer",
    revision: 2,
    requiredApprovalCount: 1,
    rowsDigest: "abc",
  };
  expect(digestOf(grant)).toBe(
    sha256(
      '{"program_id":"p","bulk_grant_id":"summer","revision":2,"execute_time_ms":null,' +
        '"required_approval_count":1,"reversed_bulk_grant_id":null,"rows_digest":"abc"}',
    ),
  );
  expect(
    digestOf({ ...grant, executeTime: 1_800_000_000_000, reversedBulkGrantId: "spring" }),
  ).toBe(
    sha256(
      '{"program_id":"p","bulk_grant_id":"summer","revision":2,"execute_time_ms":1800000000000,' +
        '"required_approval_count":1,"reversed_bulk_grant_id":"spring","rows_digest":"abc"}',
    ),
  );
});

test("the month of a bulk grant is in its digest, before that of its rows", () => {
  const grant = { programId: "p", bulkGrantId: "summer", revision: 2, requiredApprovalCount: 1 };
  expect(digestOf({ ...grant, rowsDigest: "abc", expireMonth: parseMonth("2027-01") })).toBe(
    sha256(
      '{"program_id":"p","bulk_grant_id":"summer","revision":2,"execute_time_ms":null,' +
        '"required_approval_count":1,"reversed_bulk_grant_id":null,"expire_month":"2027-01",' +
        '"rows_digest":"abc"}',
    ),
  );
});

test("the digest of a bulk grant has its cause only if it has one", () => {
  const grant = {
    programId: "p",
    bulkGrantId: "summer",
    revision: 1,
    requiredApprovalCount: 1,
    rowsDigest: "abc",
  };
  expect(digestOf({ ...grant, cause: "camp-7" })).toBe(
    sha256(
      '{"program_id":"p","bulk_grant_id":"summer","revision":1,"execute_time_ms":null,' +
        '"required_approval_count":1,"reversed_bulk_grant_id":null,"rows_digest":"abc",' +
        '"cause":"camp-7"}',
    ),
  );
  // What versions without causes have stored.
  expect(contentHashOf({ rowsDigest: "abc" })).toBe(sha256('["abc",null,null]'));
});

test("rows, time, month, cause and what is reversed make another content, and no more", () => {
  const content = { rowsDigest: "rows" };
  const hashes = [
    contentHashOf(content),
    contentHashOf({ rowsDigest: "others" }),
    contentHashOf({ ...content, executeTime: 0 }),
    contentHashOf({ ...content, executeTime: 1 }),
    contentHashOf({ ...content, reversedBulkGrantId: "a" }),
    contentHashOf({ ...content, cause: "a" }),
    contentHashOf({ ...content, expireMonth: 1 }),
    contentHashOf({ ...content, executeTime: 1, expireMonth: 1 }),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(contentHashOf({ ...content, executeTime: undefined })).toBe(hashes[0]);
});

test("a request of a revoke has its grant in the digest, and is other content than a sheet", () => {
  const asked = { userId: "u1", reason: "", revokedEvent: { origin: "c", eventId: "e" } } as const;
  const revoke = {
    ...{ programId: "p", bulkGrantId: "back", revision: 1, requiredApprovalCount: 1 },
    ...{ rowsDigest: "r", cause: "ticket", request: asked },
  };
  const json =
    '{"program_id":"p","bulk_grant_id":"back","revision":1,"execute_time_ms":null,' +
    '"required_approval_count":1,"reversed_bulk_grant_id":null,"rows_digest":"r",' +
    '"cause":"ticket"';
  expect(digestOf(revoke)).toBe(sha256(`${json},"grant_event":"c:e"}`));
  const granting = { ...revoke, request: { userId: "u1", reason: "" } };
  expect(digestOf(granting)).toBe(sha256(`${json}}`));
  const hashes = [undefined, granting.request, asked].map((request) =>
    contentHashOf({ rowsDigest: "r", request }),
  );
  expect(new Set(hashes).size).toBe(3);
});
