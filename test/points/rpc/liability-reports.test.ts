/** Tests liability reports through the API: ids, refusals, sums and lists. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ProgramJob_State as State } from "../../../src/gen/meguri/points/v1/program_job_pb.ts";
import { storeSum } from "../../../src/points/use-cases/jobs/jobs.ts";
import { at, reasonOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
const programId = "default";
const now = "2028-01-10T00:00:00Z";
const since = at("2028-01-01T00:00:00Z");
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at(now) });
});
afterAll(() => server.stop());

test("a repeated call is the same report, and starts its run until it is done", async () => {
  const { points, workflows } = server;
  const request = { jobId: "repeated", since };
  const started = () =>
    workflows.calls.filter((call) => call === "startJob liability-report default repeated").length;
  const first = await points.createLiabilityReport(request);
  expect(first).toMatchObject({
    replayed: false,
    report: {
      job: {
        ...{ programId, jobId: "repeated", state: State.RUNNING, createTime: at(now) },
        workflowId: "liability-report/default/repeated",
        caller: { service: "tests", subject: "tests" },
      },
      ...{ asOf: at(now), since },
    },
  });
  const again = await points.createLiabilityReport(request);
  expect(again).toEqual({ ...first, replayed: true });
  expect(started()).toBe(2);
  const counts = { accounts: 1, members: 0, months: {}, totals: {}, failed: 0, failures: [] };
  await storeSum(server.deps, { programId, kind: "liability-report", jobId: "repeated" }, counts);
  const { report } = await points.createLiabilityReport(request);
  expect(report).toMatchObject({ job: { state: State.DONE }, accountCount: 1n });
  expect(started()).toBe(2);
});

test("refusals", async () => {
  const { points } = server;
  await points.createLiabilityReport({ jobId: "used", since });
  const calls = {
    "another since": points.createLiabilityReport({ jobId: "used" }),
    "another service": server.clientsOf("shop").points.createLiabilityReport({
      ...{ jobId: "used", since },
    }),
    "a since that is not past": points.createLiabilityReport({ jobId: "late", since: at(now) }),
    "no id": points.createLiabilityReport({}),
    "no such program": points.createLiabilityReport({ programId: "no", jobId: "r" }),
    "no such report": points.getLiabilityReport({ jobId: "no" }),
    "a refused report": points.getLiabilityReport({ jobId: "late" }),
    "the reports of no program": points.listLiabilityReports({ programId: "no" }),
    "a page of another list": points.listLiabilityReports({ pageToken: "x" }),
  };
  const reasons = Object.entries(calls).map(async ([name, call]) => [name, await reasonOf(call)]);
  expect(Object.fromEntries(await Promise.all(reasons))).toEqual({
    "another since": "ID_REUSED",
    "another service": "ID_REUSED",
    "a since that is not past": "INVALID_REQUEST",
    "no id": "INVALID_REQUEST",
    "no such program": "PROGRAM_NOT_FOUND",
    "no such report": "JOB_NOT_FOUND",
    "a refused report": "JOB_NOT_FOUND",
    "the reports of no program": "PROGRAM_NOT_FOUND",
    "a page of another list": "INVALID_REQUEST",
  });
});

test("the sums of a report that is done, and none before", async () => {
  const { points, deps } = server;
  const started = await points.createLiabilityReport({ jobId: "sums" });
  expect(started.report).toMatchObject({ accountCount: 0n, buckets: [] });
  expect(started.report?.totals).toBeUndefined();
  await storeSum(
    deps,
    { programId, kind: "liability-report", jobId: "sums" },
    {
      ...{ accounts: 3, members: 2 },
      months: { [12 * 2028]: "20", [12 * 2027 + 11]: "9007199254740993" },
      totals: { issuedPoints: "50", usedPoints: "10", expiredPoints: "3" },
      ...{ failed: 1, failures: [{ userId: "bad", reason: "INTERNAL" }] },
    },
  );
  const { report } = await points.getLiabilityReport({ jobId: "sums" });
  expect(report).toMatchObject({
    ...{ job: { state: State.DONE, endTime: at(now) }, asOf: at(now) },
    ...{ accountCount: 3n, memberCount: 2n, outstandingPoints: 9007199254741013n },
    buckets: [
      { month: "2027-12", points: 9007199254740993n, expireTime: at("2028-11-30T15:00:00Z") },
      { month: "2028-01", points: 20n, expireTime: at("2028-12-31T15:00:00Z") },
    ],
    totals: { issuedPoints: 50n, usedPoints: 10n, expiredPoints: 3n, refundedPoints: 0n },
    ...{ failedAccountCount: 1n, failures: [{ userId: "bad", reason: "INTERNAL" }] },
  });
  expect(report?.since).toBeUndefined();
});

test("reports are listed by their ids, page by page", async () => {
  const { points, programs } = server;
  const request = { programId: "listed" };
  await programs.createProgram({ ...request, timeZone: "UTC", lifetimeMonths: 3 });
  for (const jobId of ["2028-02", "2027-12", "2028-01"]) {
    await points.createLiabilityReport({ ...request, jobId });
  }
  const first = await points.listLiabilityReports({ ...request, pageSize: 2 });
  const pageToken = first.nextPageToken;
  const second = await points.listLiabilityReports({ ...request, pageSize: 2, pageToken });
  const ids = [...first.liabilityReports, ...second.liabilityReports].map(({ job }) => job?.jobId);
  expect([ids, second.nextPageToken]).toEqual([["2027-12", "2028-01", "2028-02"], ""]);
});
