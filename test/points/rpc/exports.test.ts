/** Tests the RPCs of exports: what they refuse, what they join, and what they answer. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ProgramJob_State as State } from "../../../src/gen/meguri/points/v1/program_job_pb.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-06-10T00:00:00Z") });
});
afterAll(() => server.stop());

const may = at("2026-05-01T00:00:00Z");
const june = at("2026-06-01T00:00:00Z");
const asked = { jobId: "2026-05", destination: "audit", createTimeBefore: june };

test("an export starts, is joined and can be read", async () => {
  const { points, workflows } = server;
  const request = { ...asked, createTimeFrom: may };
  const missing = await refusalOf(points.getLedgerExport({ jobId: "2026-05" }));
  expect(missing).toMatchObject({ code: "NotFound", reason: "JOB_NOT_FOUND" });
  const { ledgerExport } = await points.exportLedger(request);
  expect(ledgerExport).toMatchObject({
    job: {
      programId: "default",
      jobId: "2026-05",
      state: State.RUNNING,
      workflowId: "export-ledger/default/2026-05",
      caller: { service: "tests" },
    },
    destination: "audit",
    folder: "default/2026-05",
    createTimeFrom: may,
    createTimeBefore: june,
    entryCount: 0n,
    unreadableEntries: [],
  });
  expect((await points.exportLedger(request)).ledgerExport).toEqual(ledgerExport);
  const found = await points.getLedgerExport({ programId: "default", jobId: "2026-05" });
  expect(found.ledgerExport).toEqual(ledgerExport);
  const listed = await points.listLedgerExports({});
  expect(listed.ledgerExports).toEqual([ledgerExport]);
  expect(workflows.calls).toContain("startJob export-ledger default 2026-05");
  const byOther = server.clientsOf("other").points;
  for (const call of [points.exportLedger(asked), byOther.exportLedger(request)]) {
    const other = await refusalOf(call);
    expect(other).toMatchObject({ code: "FailedPrecondition", reason: "ID_REUSED" });
  }
});

test.each([
  ["the end before the start", { createTimeFrom: june, createTimeBefore: may }],
  ["the end at the start", { createTimeFrom: june, createTimeBefore: june }],
  ["the end in the future", { createTimeBefore: at("2026-06-10T00:00:01Z") }],
  ["the end a quarter of an hour ago", { createTimeBefore: at("2026-06-09T23:45:00Z") }],
])("%s is refused", async (_, times) => {
  const refusal = await refusalOf(server.points.exportLedger({ ...asked, jobId: "x", ...times }));
  expect(refusal).toMatchObject({ code: "InvalidArgument", reason: "INVALID_REQUEST" });
});

test("a destination that is not configured is refused, and nothing starts", async () => {
  const { points, workflows } = server;
  const count = workflows.calls.length;
  for (const destination of ["nowhere", "../audit", "/tmp", ""]) {
    const refusal = await refusalOf(points.exportLedger({ ...asked, jobId: "y", destination }));
    expect(refusal).toMatchObject({ code: "InvalidArgument", reason: "INVALID_REQUEST" });
  }
  expect(workflows.calls).toHaveLength(count);
});
