/** Runs the script of docs/grant/apps-script.md: submit, status and failed rows. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  runAppsScript,
  type ScriptResult,
  type ScriptTab,
} from "../support/fixtures/apps-script.ts";
import { completeCheck } from "../support/fixtures/bulk-grant-calls.ts";
import { codeNamed } from "../support/markdown.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const tabOf = (...rows: readonly (readonly unknown[])[]): ScriptTab => {
  const values = [["user_id", "points", "reason"], ...rows];
  const all = (value: string) => values.map((row) => row.map(() => value));
  return { values, notes: all(""), backgrounds: all("#ffffff") };
};

/** Runs a function of the script; the properties are those of the run before. */
const run = (
  functionName: string,
  tab: ScriptTab,
  answers: readonly string[] = [],
  { properties = {} }: Partial<Pick<ScriptResult, "properties">> = {},
) => {
  const url = `http://127.0.0.1:${server.http1Port}`;
  const code = codeNamed("docs/grant/apps-script.md", "check").replace("https://HOST", url);
  return runAppsScript({ code, functionName, tab, answers, properties });
};

const read = async (bulkGrantId: string) =>
  (await server.bulkGrants.getBulkGrant({ bulkGrantId })).bulkGrant;

test("a tab is submitted under an id that a person chooses, after a confirmation", async () => {
  const tab = tabOf(["aoi", 100, "春"], ["ben", 50, ""]);
  const refused = await run("submitTab", tab, ["spring", "NO"]);
  const question =
    'Submit "春のキャンペーン / シート1" as spring?\nRows: 2\nPoints: 150\nNothing is wrong.';
  expect(refused.alerts).toEqual([question]);
  expect((await server.bulkGrants.listBulkGrants({})).bulkGrants).toEqual([]);

  const submitted = await run("submitTab", tab, ["YES"], refused);
  expect(submitted.alerts).toEqual([
    question,
    "春のキャンペーン / シート1: VALIDATING\nId: spring, revision 1\nRows: 2, points: 150\n" +
      "Rows granted: 0, failed: 0, invalid: 0\nApprovals: 0 of 1",
  ]);
  expect(await read("spring")).toMatchObject({
    title: "春のキャンペーン / シート1",
    submitter: { service: "campaign-sheet" },
  });
  const again = await run("submitTab", tab, ["YES"], submitted);
  expect(again.alerts[1]).toMatch(/^Nothing has changed: .* before, as revision 1\.\n/);

  const { digest = "" } = await completeCheck(server, "spring");
  await server.clientsOf("mika").bulkGrants.approveBulkGrant({ bulkGrantId: "spring", digest });
  const { alerts } = await run("showStatus", tab, [], submitted);
  expect(alerts[0]).toContain(": APPROVED\n");
  expect(alerts[0]).toContain("Approvals: 1 of 1 (mika)");
});

test("a wrong tab is not submitted, and without an id nothing is called", async () => {
  const wrong = await run("submitTab", tabOf(["aoi", "x", ""]), ["wrong"]);
  expect(wrong.alerts[0]).toContain("Not submitted.\nRows: 1");
  expect(wrong.tab.notes[1]?.[1]).toContain("Meguri: points");
  expect(await run("submitTab", tabOf(["aoi", 1, ""]))).toMatchObject({
    alerts: [],
    properties: {},
  });
  const { error } = await run("showStatus", tabOf(), ["two#words"]);
  expect(error).toContain("the id has 1 to 128 bytes");
});

test("rows that others have replaced are submitted again only if a person agrees", async () => {
  const bulkGrantId = "turns";
  const first = tabOf(["aoi", 1, ""]);
  const chosen = await run("submitTab", first, [bulkGrantId, "YES"]);
  await server.bulkGrants.cancelBulkGrant({ bulkGrantId });
  await run("submitTab", tabOf(["aoi", 2, ""]), ["YES"], chosen);
  await server.bulkGrants.cancelBulkGrant({ bulkGrantId });
  const { alerts } = await run("submitTab", first, ["YES", "NO"], chosen);
  expect(alerts[1]).toMatch(/as revision 1, which another one has replaced\.\n[\s\S]*CANCELLED/);
  expect(alerts[1]).toMatch(/Submit these rows once more, as its next revision\?$/);
  expect(await read(bulkGrantId)).toMatchObject({ revision: 2 });
  await run("submitTab", first, ["YES", "YES"], chosen);
  expect(await read(bulkGrantId)).toMatchObject({ revision: 3, totalPoints: 1n });
});

test("failed rows come back as a tab of texts, of the same id", async () => {
  const bulkGrantId = "failed";
  const rows = Array.from({ length: 210 }, (_, i) => ({
    userId: `u${i}`,
    points: -1n,
    reason: "",
  }));
  rows[1] = { userId: "=HYPERLINK(1)", points: 5n, reason: "+1" };
  rows[2] = { userId: "ben", points: 5n, reason: "" };
  const content = { case: "rows", value: { rows } } as const;
  await server.bulkGrants.submitBulkGrant({ bulkGrantId, content });
  await completeCheck(server, bulkGrantId);
  const tab = tabOf();
  const { added, properties } = await run("writeFailedRows", tab, [bulkGrantId]);
  const cells = added["failed failed r1"] ?? [];
  expect(cells[0]?.slice(0, 7).join()).toBe(
    "user_id,points,reason,bulk_grant_id,revision,line,error_code",
  );
  expect(cells).toHaveLength(1 + rows.length);
  expect(cells[1]?.slice(0, 7)).toEqual(["u0", "-1", "", "failed", "1", "2", "POINTS_MALFORMED"]);
  expect(cells[2]?.slice(0, 3)).toEqual(["=HYPERLINK(1)", "5", "+1"]);
  expect(JSON.stringify(added)).not.toContain("EXECUTED");
  expect(properties["meguri.bulk_grant_id.1"]).toBe(bulkGrantId);
});
