/** Tests submissions in one request, over gRPC, as a browser and as curl, and by a source. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeFailuresToSource } from "../../../src/bulk-grants/use-cases/advance.ts";
import { moveSheet } from "../../../src/bulk-grants/use-cases/pick-up-sheet.ts";
import { submitFromSource } from "../../../src/bulk-grants/use-cases/submit-from-source.ts";
import { BulkGrant_State as State } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import {
  completeCheck,
  pendingUploads,
  sheet,
  uploadCsv,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { createSourceFolder, type SourceFolder } from "../../support/fixtures/source-folder.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

const origin = "https://staff.example";

let folder: SourceFolder;
let server: TestServer;
beforeAll(async () => {
  folder = await createSourceFolder();
  server = await startServer({ env: { ...folder.env, MEGURI_CORS_ORIGINS: origin } });
  await server.clock.setTime({ time: at("2026-11-01T00:00:00Z") });
  const { programId } = folder;
  await server.programs.createProgram({ programId, bulkRules: { sources: ["nightly"] } });
});
afterAll(async () => {
  await server.stop();
  await folder.delete();
});

const csvOf = (csv: string | Uint8Array) => ({ case: "csv", value: Buffer.from(csv) }) as const;

/** So many rows of about 1 KiB, too long to be granted. */
const sheetOf = (count: number) =>
  sheet(...Array.from({ length: count }, (_, i) => `u${i},1,${"r".repeat(1_000)}`));

describe("SubmitBulkGrant", () => {
  test("is an upload in one request: the same content of both is one revision", async () => {
    const title = "20221101_キャンペーン1";
    const executeTime = at("2026-12-01T00:00:00Z");
    const header = { bulkGrantId: "unary", title, executeTime };
    const csv = sheet("u1,5,", "u2,7,thanks");
    const first = await server.bulkGrants.submitBulkGrant({ ...header, content: csvOf(csv) });
    expect(first).toMatchObject({
      replayed: false,
      revision: 1,
      bulkGrant: {
        ...{ state: State.VALIDATING, rowCount: 2, totalPoints: 12n, title, executeTime },
        submitter: { service: "tests", subject: "tests" },
      },
    });
    const uploaded = await uploadCsv(server, header, csv);
    expect(uploaded).toMatchObject({ replayed: true, revision: 1, bulkGrant: first.bulkGrant });
    const rows = [
      { userId: "u1", points: 5n },
      { userId: "u2", points: 7n, reason: "thanks" },
    ];
    const content = { case: "rows", value: { rows } } as const;
    const again = await server.bulkGrants.submitBulkGrant({ ...header, content });
    expect(again).toMatchObject({ replayed: true, revision: 1 });
    expect(await pendingUploads(server)).toEqual([]);
  });

  test("replaces the revision that it names, and no other", async () => {
    const request = { bulkGrantId: "next", content: csvOf(sheet("u1,5,", "u1,5,")) };
    await server.bulkGrants.submitBulkGrant(request);
    await completeCheck(server, "next");
    const corrected = { ...request, content: csvOf(sheet("u1,5,")) };
    const wrong = server.bulkGrants.submitBulkGrant({ ...corrected, replacedRevision: 2 });
    expect(await reasonOf(wrong)).toBe("WRONG_STATE");
    const next = await server.bulkGrants.submitBulkGrant({ ...corrected, replacedRevision: 1 });
    expect(next).toMatchObject({ replayed: false, revision: 2 });
  });

  test("refuses what an upload refuses, and keeps nothing", async () => {
    const before = await dump(server);
    const submit = (csv: string, more: object = {}) =>
      refusalOf(
        server.bulkGrants.submitBulkGrant({ bulkGrantId: "x", ...more, content: csvOf(csv) }),
      );
    expect(await submit("user_id,points\n")).toMatchObject({
      reason: "INVALID_REQUEST",
      metadata: { code: "EMPTY", line: "1" },
    });
    expect(await submit(sheet("u1,1,"), { programId: "none" })).toMatchObject({
      reason: "PROGRAM_NOT_FOUND",
    });
    expect(await reasonOf(server.bulkGrants.submitBulkGrant({ bulkGrantId: "x" }))).toBe(
      "INVALID_REQUEST",
    );
    expect(await dump(server)).toEqual(before);
  });

  test("takes a sheet of 4 MiB, and no more", async () => {
    const csv = sheetOf(4_100);
    const large = { bulkGrantId: "large", content: csvOf(csv) };
    expect(csv.length).toBeGreaterThan(3.9 * 2 ** 20);
    const { bulkGrant } = await server.bulkGrants.submitBulkGrant(large);
    expect(bulkGrant?.rowCount).toBe(4_100);
    const larger = { bulkGrantId: "larger", content: csvOf(Buffer.alloc(4 * 2 ** 20 + 100_000)) };
    expect(await refusalOf(server.bulkGrants.submitBulkGrant(larger))).toMatchObject({
      reason: "REQUEST_TOO_LARGE",
      metadata: { limit: "4259840" },
    });
  });
});

/** Calls as a page of a browser or as curl does: JSON over HTTP/1.1. */
async function post(body: unknown, more: Readonly<Record<string, string>> = {}) {
  const url = `http://127.0.0.1:${server.http1Port}/${BulkGrantService.typeName}/SubmitBulkGrant`;
  const headers = { "content-type": "application/json", "meguri-caller": "staff-page", ...more };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return { response, answer: (await response.json()) as Record<string, unknown> };
}

describe("in JSON over HTTP/1.1", () => {
  test("a page of an allowed origin submits rows", async () => {
    const rows = { rows: [{ userId: "u1", points: 5 }] };
    const { response, answer } = await post({ bulkGrantId: "page", rows }, { origin });
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(answer).toMatchObject({
      bulkGrant: { bulkGrantId: "page", submitter: { service: "staff-page" } },
      revision: 1,
    });
  });

  test("a sheet of 3 MiB is accepted as base64", async () => {
    const csv = Buffer.from(sheetOf(3_050)).toString("base64");
    expect(csv.length).toBeGreaterThan(3.9 * 2 ** 20);
    const { answer } = await post({ bulkGrantId: "20221101_キャンペーン1", csv });
    expect(answer).toMatchObject({ bulkGrant: { rowCount: 3_050 } });
  });
});

test("a sheet of a source says who submitted it, where it is, and its failed rows", async () => {
  const { deps } = server;
  const name = { programId: folder.programId, bulkGrantId: "places" };
  await folder.put("places.csv", ["p1,5", "p1,5"]);
  await submitFromSource(deps, { ...name, source: "nightly/places.csv" });
  const read = () => server.bulkGrants.getBulkGrant(name);
  const { bulkGrant: before } = await read();
  expect(before).toMatchObject({
    ...{ source: "nightly/places.csv", sourceUrl: "" },
    submitter: { service: "nightly-batch", subject: "nightly-batch" },
  });
  expect([before?.movedTo, before?.failedRowsAt]).toEqual([undefined, undefined]);
  await completeCheck(server, name.bulkGrantId, name.programId);
  await writeFailuresToSource(deps, name);
  await moveSheet(deps, { source: "nightly/places.csv", to: "failed", bulkGrant: name });
  expect(await read()).toMatchObject({
    bulkGrant: {
      movedTo: { name: "nightly/failed/places.csv", url: "" },
      failedRowsAt: { name: "nightly/failed/places.errors.csv", url: "" },
    },
  });
});
