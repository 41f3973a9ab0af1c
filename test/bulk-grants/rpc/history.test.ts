/** Tests what remains of a bulk grant: all actions and revisions, their rows, and the audit. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  BulkGrant_Action_Type as ActionType,
  BulkGrantRow_StateSchema as RowStateSchema,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  auditOf,
  completeCheck,
  grantRows,
  submitLines,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { allResponses } from "../../support/fixtures/pages.ts";
import { refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

const bulkGrantId = "spring";
const pauses = 12;
let server: MemoryServer;

/** A campaign with a wrong row, then a row that fails, then all rows once more. */
beforeAll(async () => {
  server = await startMemoryServer();
  await submit("aoi,10,", "ben,2x,", "cho,30,=1+1");
  await submit("aoi,10,", "ben,20,", "cho,30,=1+1");
  await server.points.freezeAccount({ userId: "ben", eventId: "f" });
  await run("mika");
  await server.points.unfreezeAccount({ userId: "ben", eventId: "u" });
  await submit("aoi,10,", "ben,20,", "cho,30,=1+1");
  await run("rin");
});
afterAll(() => server.stop());

/** Submits rows as the next revision, and validates it. */
async function submit(...lines: string[]): Promise<void> {
  const found = await server.bulkGrants.getBulkGrant({ bulkGrantId }).catch(() => undefined);
  const replacedRevision = found?.bulkGrant?.revision ?? 0;
  await submitLines(server, { bulkGrantId, replacedRevision }, ...lines);
  await completeCheck(server, bulkGrantId);
}

/** Approves it, pauses and resumes it a few times, and runs it. */
async function run(approver: string): Promise<void> {
  await grantRows(server, bulkGrantId, approver, async () => {
    for (let i = 0; i < pauses; i++) {
      await server.bulkGrants.pauseBulkGrant({ bulkGrantId, reason: `pause ${i}` });
      await server.bulkGrants.resumeBulkGrant({ bulkGrantId });
    }
  });
}

test("all actions are listed in pages, although the bulk grant shows the latest 20", async () => {
  const pages = await allResponses((pageToken) =>
    server.bulkGrants.listBulkGrantActions({ bulkGrantId, pageSize: 7, pageToken }),
  );
  const actions = pages.flatMap((page) => page.actions);
  const paused = Array.from({ length: pauses }, () => [ActionType.PAUSE, ActionType.RESUME]).flat();
  const { SUBMIT, APPROVE } = ActionType;
  expect(actions.map(({ type }) => type)).toEqual(
    [[SUBMIT, SUBMIT, APPROVE], paused, [SUBMIT, APPROVE], paused].flat(),
  );
  expect(actions[2]).toMatchObject({
    revision: 2,
    caller: { service: "mika", subject: "mika" },
    reason: "as agreed",
  });
  const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId });
  expect(bulkGrant?.actions).toEqual(actions.slice(-20));
});

test("all revisions are listed in pages, the first one first", async () => {
  const pages = await allResponses((pageToken) =>
    server.bulkGrants.listBulkGrantRevisions({ bulkGrantId, pageSize: 2, pageToken }),
  );
  const revisions = pages.flatMap((page) => page.revisions);
  expect(revisions).toMatchObject([
    { revision: 1, rowCount: 3, totalPoints: 40n, submitter: { service: "tests" }, source: "" },
    { revision: 2, rowCount: 3, totalPoints: 60n },
    { revision: 3, rowCount: 3, totalPoints: 60n },
  ]);
  expect(revisions[2]?.rowsDigest).toBe(revisions[1]?.rowsDigest);
});

test("the rows of each revision are listed with what became of them", async () => {
  const statesOf = async (revision: number) => {
    const { rows } = await server.bulkGrants.listBulkGrantRows({ bulkGrantId, revision });
    return rows.map(({ userId, state }) => `${userId} ${RowStateSchema.value[state]?.localName}`);
  };
  expect(await statesOf(1)).toEqual(["aoi NOT_RUN", "ben INVALID", "cho NOT_RUN"]);
  expect(await statesOf(2)).toEqual(["aoi GRANTED", "ben FAILED", "cho GRANTED"]);
  const last = ["aoi ALREADY_GRANTED", "ben GRANTED", "cho ALREADY_GRANTED"];
  expect(await statesOf(3)).toEqual(last);
  expect(await statesOf(0)).toEqual(last);
  const refusal = await refusalOf(statesOf(4));
  expect([refusal.reason, refusal.fields]).toEqual(["INVALID_REQUEST", ["revision"]]);
});

test("the audit says who got what by whose approval, in every revision", async () => {
  const [head, ...lines] = (await auditOf(server, bulkGrantId)).trimEnd().split("\r\n");
  expect(head).toBe(
    '\ufeff"revision","line","user_id","points","reason","expire_month",' +
      '"outcome","error_codes","ledger_number","granted_points","approvers"',
  );
  expect(lines).toEqual([
    '"1","2","aoi","10","","","NOT_RUN","NOT_RUN","","",""',
    '"1","3","ben","2x","","","INVALID","POINTS_MALFORMED","","",""',
    `"1","4","cho","30","'=1+1","","NOT_RUN","NOT_RUN","","",""`,
    '"2","2","aoi","10","","","GRANTED","","1","10","mika"',
    '"2","3","ben","20","","","FAILED","ACCOUNT_FROZEN","","","mika"',
    `"2","4","cho","30","'=1+1","","GRANTED","","1","30","mika"`,
    '"3","2","aoi","10","","","ALREADY_GRANTED","","1","10","rin"',
    '"3","3","ben","20","","","GRANTED","","3","20","rin"',
    `"3","4","cho","30","'=1+1","","ALREADY_GRANTED","","1","30","rin"`,
  ]);
});

test("the audit of a large sheet comes in pieces, without its rows in one of them", async () => {
  const id = "large";
  const lines = Array.from({ length: 2_000 }, (_, i) => `u${i},1,`);
  await submitLines(server, { bulkGrantId: id }, ...lines);
  const sizes: number[] = [];
  for await (const { csvChunk } of server.bulkGrants.exportBulkGrantAudit({ bulkGrantId: id })) {
    sizes.push(csvChunk.length);
  }
  expect(sizes).toHaveLength(1 + Math.ceil((1 + lines.length) / 250));
  expect(Math.max(...sizes)).toBeLessThan(20_000);
});

test("a revision, a list and an audit of an unknown bulk grant are refused", async () => {
  const name = { bulkGrantId: "none" };
  const calls = [
    server.bulkGrants.listBulkGrantActions(name),
    server.bulkGrants.listBulkGrantRevisions(name),
    auditOf(server, "none"),
  ];
  const refusals = await Promise.all(calls.map(refusalOf));
  for (const { reason } of refusals) expect(reason).toBe("BULK_GRANT_NOT_FOUND");
});
