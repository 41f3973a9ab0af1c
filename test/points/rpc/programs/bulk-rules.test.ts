/** Tests the rules for bulk grants in the API: the default ones, set ones, and refused ones. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.programs.createProgram({
    ...{ programId, timeZone: "UTC", lifetimeMonths: 3 },
    bulkRules: { requiredApprovalCount: 0 },
  });
});
afterAll(() => server.stop());

const programId = "bulk-rules";
const defaults = {
  maxPointsPerRow: 1_000_000_000n,
  maxTotalPoints: 1_000_000_000_000_000n,
  tiers: [],
  requiredApprovalCount: 1,
  sources: [],
  loweringDelay: { seconds: 3_600n, nanos: 0 },
};
const tiered = {
  maxPointsPerRow: 500n,
  maxTotalPoints: 2_000_000n,
  tiers: [
    { maxTotalPoints: 1_000n, requiredApprovalCount: 0 },
    { maxTotalPoints: 50_000n, requiredApprovalCount: 0 },
  ],
  requiredApprovalCount: 0,
  sources: ["nightly", "weekly"],
  loweringDelay: { seconds: 60n, nanos: 0 },
};

const unattended = { ...defaults, requiredApprovalCount: 0 };

const stored = async () => (await server.programs.getProgram({ programId })).program;

test("a new program has no tiers, the highest caps and one approval for everything", async () => {
  const { program } = await server.programs.createProgram({ programId: "new" });
  expect(program?.bulkRules).toMatchObject(defaults);
  expect(program?.rulesChange).toBeUndefined();
  const { programs } = await server.programs.listPrograms({});
  for (const { programId: id, bulkRules } of programs) {
    expect(bulkRules).toMatchObject(id === programId ? unattended : defaults);
  }
});

test("an update sets the rules and leaves all else, and the other way round", async () => {
  const before = await stored();
  const { program } = await server.programs.updateProgram({
    program: { programId, bulkRules: tiered },
  });
  expect(program).toMatchObject({ lifetimeMonths: 3, bulkRules: tiered });
  const { bulkRules, etag, rulesChange } = program ?? {};
  expect(etag).not.toBe(before?.etag);
  expect(await stored()).toEqual({ ...before, bulkRules, etag, rulesChange });
  const notices = { expiryDays: 7, reservedGrants: true };
  await server.programs.updateProgram({ program: { programId, notices } });
  await server.programs.updateProgram({
    program: { programId, bulkRules: { ...tiered, tiers: [] } },
  });
  expect(await stored()).toMatchObject({ notices, bulkRules: { ...tiered, tiers: [] } });
});

test("what is unset in the rules gets its default, which is one approval, not none", async () => {
  const bulkRules = {
    maxTotalPoints: 9n,
    tiers: [{ maxTotalPoints: 5n, requiredApprovalCount: 0 }],
  };
  const { program } = await server.programs.createProgram({ programId: "partly", bulkRules });
  expect(program?.bulkRules).toMatchObject({ ...defaults, ...bulkRules });
  await server.programs.updateProgram({ program: { programId, bulkRules: {} } });
  expect((await stored())?.bulkRules).toMatchObject(defaults);
});

test("no approval above the tiers is an explicit zero", async () => {
  const bulkRules = { requiredApprovalCount: 0 };
  const { program } = await server.programs.createProgram({ programId: "none", bulkRules });
  expect(program?.bulkRules).toMatchObject(unattended);
});

test("rules that contradict each other are refused by their field", async () => {
  const before = await stored();
  const tier = { maxTotalPoints: 5n, requiredApprovalCount: 1 };
  const program = { programId, lifetimeMonths: 36, bulkRules: { tiers: [tier, tier] } };
  const refusal = await refusalOf(server.programs.updateProgram({ program }));
  expect(refusal).toMatchObject({ code: "InvalidArgument", reason: "INVALID_REQUEST" });
  expect(refusal.fields).toEqual(["program.bulk_rules.tiers[1].max_total_points"]);
  expect(await stored()).toEqual(before);
});
