/** Tests that a sheet of each form is granted as its summary says, and refusals that arrive. */
import * as grpc from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import iconv from "iconv-lite";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import {
  completeCheck,
  completeRun,
  sheet,
  uploadCsv,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { descriptorSet } from "../../support/fixtures/descriptors.ts";
import { inlineRows, workbookOf } from "../../support/fixtures/workbooks.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const reasons: Readonly<Record<string, string>> = {
  "utf-8": "春の特典 🎁",
  "utf-16": "春の特典 🎁",
  shift_jis: "林",
  "euc-jp": "ﾔﾏﾀﾞ様",
  "windows-1252": "Ben’s café",
  gbk: "春节",
  big5: "春節",
  "euc-kr": "봄맞이",
  "": "春の特典",
};

const encodingOf = (name: string): string => {
  if (name === "utf-16") return "utf-16le";
  return { "": "cp932", shift_jis: "cp932", "euc-kr": "cp949" }[name] ?? name;
};

/** Sheets of a user each, with the encoding that is named. */
const sheets = [
  ...Object.entries(reasons).map(([encoding, reason], i) => {
    const userId = `csv-${i}`;
    const bytes = iconv.encode(sheet(`${userId},${i + 1},${reason}`), encodingOf(encoding));
    return { bytes, encoding, userId, points: i + 1, reason };
  }),
  {
    bytes: workbookOf({
      rows:
        inlineRows(["user_id", "points", "reason"]) +
        '<row><c t="inlineStr"><is><t>book</t></is></c><c><v>1.2E+3</v></c>' +
        '<c t="inlineStr"><is><t>春の特典 🎁</t></is></c></row>',
    }),
    encoding: "",
    userId: "book",
    points: 1_200,
    reason: "春の特典 🎁",
  },
];

test.each(sheets)(
  "the ledger of $userId has what the summary of a sheet ($encoding) says",
  async ({ bytes, encoding, userId, points, reason }) => {
    const bulkGrantId = `of-${userId}`;
    await uploadCsv(server, { bulkGrantId, encoding }, bytes);
    const { digest } = await completeCheck(server, bulkGrantId);
    const { summary, lines } = await server.bulkGrants.getBulkGrantSummary({ bulkGrantId });
    const granted = { userId, points: BigInt(points), reason };
    expect(summary?.reading?.sample).toMatchObject({ line: 2, ...granted });
    expect(lines.find(({ name }) => name === "sheet")?.text).toContain(
      `to ${userId} for ‘${reason}’`,
    );
    await server.clientsOf("mika").bulkGrants.approveBulkGrant({ bulkGrantId, digest });
    await completeRun(server, bulkGrantId);
    const { entries } = await server.points.listLedgerEntries({ userId });
    expect(entries).toMatchObject([{ points: granted.points, reason }]);
  },
);

test("SubmitBulkGrant takes a workbook, and refuses an encoding for it", async () => {
  const rows = inlineRows(["user_id", "points"], ["submitted", "5"]);
  const content = { case: "csv" as const, value: workbookOf({ rows }) };
  const bulkGrantId = "submitted";
  const { bulkGrants } = server;
  await expect(
    bulkGrants.submitBulkGrant({ bulkGrantId, content, encoding: "utf-8" }),
  ).rejects.toThrow("the file is a workbook (.xlsx), which has no encoding to name; leave it out");
  const { reading } = await bulkGrants.submitBulkGrant({ bulkGrantId, content });
  expect(reading).toMatchObject({ sheetName: "Sheet1", sample: { userId: "submitted" } });
});

test.each([80, 400])(
  "%i unknown columns in Japanese are refused in grpc-js, too",
  async (count) => {
    const { typeName, file } = BulkGrantService;
    const definitions = loadFileDescriptorSetFromBuffer(descriptorSet([file]), { keepCase: true });
    const Client = grpc.makeClientConstructor(
      definitions[typeName] as grpc.ServiceDefinition,
      typeName,
    );
    const client = new Client(`127.0.0.1:${server.port}`, grpc.credentials.createInsecure());
    onTestFinished(() => client.close());
    const names = Array.from({ length: count }, (_, i) => `配送先のお名前とご住所${i}`);
    const csv = Buffer.from(`user_id,points,${names.join(",")}\nu,1\n`);
    const metadata = new grpc.Metadata();
    metadata.set("meguri-caller", "grpc-js");
    const refused = new Promise<grpc.ServiceError>((resolve) => {
      client.SubmitBulkGrant?.({ bulk_grant_id: "wide", csv }, metadata, resolve);
    });
    expect(await refused).toMatchObject({
      code: grpc.status.INVALID_ARGUMENT,
      details: expect.stringContaining(`${count - 5} more of the first line`),
    });
  },
);
