/** Tests that each audited method writes one act with its change, and none without one. */
import { getOption, hasOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { submitFromSource } from "../../../src/bulk-grants/use-cases/submit-from-source.ts";
import { audited } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { Act_Via as Via } from "../../../src/gen/meguri/acts/v1/act_pb.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { bulkGrantScenarios } from "../../support/acts/bulk-grants.ts";
import { pointsScenarios } from "../../support/acts/points.ts";
import { reservationScenarios } from "../../support/acts/reservations.ts";
import { programId, type Scenario } from "../../support/acts/scenario.ts";
import { completeCheck } from "../../support/fixtures/bulk-grant-calls.ts";
import { services } from "../../support/fixtures/descriptors.ts";
import {
  createExportFolder,
  type ExportFolderFixture,
} from "../../support/fixtures/export-folder.ts";
import { createSourceFolder, type SourceFolder } from "../../support/fixtures/source-folder.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
let sources: SourceFolder;
let exports: ExportFolderFixture;
let scenarios: Readonly<Record<string, Scenario>>;

beforeAll(async () => {
  [sources, exports] = await Promise.all([createSourceFolder(), createExportFolder([programId])]);
  server = await startServer({ env: { ...sources.env, ...exports.env } });
  await server.clock.setTime({ time: at("2026-11-20T00:00:00Z") });
  await server.programs.createProgram({ programId, bulkRules: { sources: ["nightly"] } });
  scenarios = {
    ...pointsScenarios(server),
    ...reservationScenarios(server),
    ...bulkGrantScenarios(server),
  };
});
afterAll(async () => {
  await server.stop();
  await Promise.all([sources.delete(), exports.delete()]);
});

const methods = services.flatMap((service) => service.methods);
const auditedNames = methods.filter((each) => getOption(each, audited)).map(({ name }) => name);

describe("the contract", () => {
  test("says of every method whether it is audited", () => {
    expect(methods.filter((method) => !hasOption(method, audited))).toEqual([]);
  });

  test("audits no method that only reads", () => {
    const reads = methods.filter(({ idempotency }) => idempotency === Level.NO_SIDE_EFFECTS);
    expect(reads.filter((method) => getOption(method, audited))).toEqual([]);
  });

  test("has each name of an audited method once, because acts have no more than the name", () => {
    expect(new Set(auditedNames).size).toBe(auditedNames.length);
  });
});

async function actsOf(program: string) {
  const createTimeFrom = at(new Date(Date.now() - 3_600_000).toISOString());
  const request = { programId: program, createTimeFrom, pageSize: 200 };
  return (await server.acts.listActs(request)).acts;
}

test("there is a scenario for each audited method", () => {
  expect(Object.keys(scenarios).sort()).toEqual(auditedNames.toSorted());
});

test.each(auditedNames)("%s writes one act with its change", async (method) => {
  const scenario = scenarios[method] as Scenario;
  const { call, act, program = programId } = scenario;
  const ops = server.clientsOf("ops");
  await scenario.prepare?.();
  const before = (await actsOf(program)).length;
  await refusalOf(scenario.refused(ops));
  expect((await actsOf(program)).length).toBe(before);
  let requestId: string | null = null;
  const onHeader = (headers: Headers) => {
    requestId = headers.get("x-request-id");
  };
  await call(ops, { onHeader });
  const after = await actsOf(program);
  expect(after.length).toBe(before + 1);
  const common = { programId: program, method, requestId, via: Via.CALL };
  expect(after[0]).toMatchObject({ ...common, caller: asService("ops"), ...act });
  // Some methods refuse the second call, and others find that it changes nothing.
  await call(ops, {}).catch(() => undefined);
  expect((await actsOf(program)).length).toBe(before + 1);
});

test("an act has an id of its own, whatever header the caller sends", async () => {
  const { points } = server.clientsOf("ops");
  const headers = { "x-request-id": "00000000-0000-4000-8000-000000000000" };
  const freeze = (eventId: string) =>
    points.freezeAccount({ programId, userId: "forged", eventId, reason: "" }, { headers });
  await Promise.all([freeze("h1"), freeze("h2"), freeze("h3")]);
  const found = (await actsOf(programId)).filter(({ userId }) => userId === "forged");
  const ids = found.map(({ requestId }) => requestId);
  expect(new Set(ids).size).toBe(3);
  expect(ids).not.toContain(headers["x-request-id"]);
});

test("the act of a revision without a source names the source before", async () => {
  const { bulkGrants } = server.clientsOf("ops");
  const name = { programId, bulkGrantId: "unsourced" };
  await sources.put("first.csv", ["u1,5"]);
  await submitFromSource(server.deps, { ...name, source: "nightly/first.csv" });
  await completeCheck(server, name.bulkGrantId, programId);
  await bulkGrants.cancelBulkGrant(name);
  const value = { rows: [{ userId: "u1", points: 6n }] };
  const content = { case: "rows", value } as const;
  await bulkGrants.submitBulkGrant({ ...name, content, replacedRevision: 1 });
  const [latest] = await actsOf(programId);
  expect(latest?.changes).toContainEqual(
    expect.objectContaining({ field: "source", before: "nightly/first.csv", after: "" }),
  );
});

test("the act of a program says its first rules for bulk grants", async () => {
  const { programs } = server.clientsOf("ops");
  await programs.createProgram({ programId: "sourced", bulkRules: { sources: ["nightly"] } });
  const [act] = await actsOf("sourced");
  expect(act?.changes).toHaveLength(8);
  const rules = act?.changes.find(({ field }) => field === "proposed_bulk_rules");
  expect(rules?.after).toContain("nightly");
  expect(rules?.before).not.toContain("nightly");
});
