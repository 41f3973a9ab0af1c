/** Tests the notices of a program in the API: set by an update, left by another, turned off. */
import { afterAll, beforeAll, expect, test } from "vitest";
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

const programId = "notices";

const stored = async () => (await server.programs.getProgram({ programId })).program;

test("a new program notifies of nothing", async () => {
  expect((await stored())?.notices).toBeUndefined();
});

test("an update sets the notices and leaves the lifetime, and the other way round", async () => {
  const notices = { expiryDays: 7, reservedGrants: true };
  const { program } = await server.programs.updateProgram({ program: { programId, notices } });
  expect(program).toMatchObject({ lifetimeMonths: 3, notices });
  expect(program?.lifetimeChanges).toHaveLength(1);
  await server.programs.updateProgram({ program: { programId, lifetimeMonths: 6 } });
  const longer = await stored();
  expect(longer).toMatchObject({ notices });
  expect(longer?.lifetimeChanges).toHaveLength(2);
});

test("an update without anything changes nothing", async () => {
  const before = await stored();
  await server.programs.updateProgram({ program: { programId } });
  expect(await stored()).toEqual(before);
});

test("the schedule is ensured with an update of the notices", async () => {
  await expect
    .poll(() => server.workflows.calls)
    .toContainEqual(`ensureExpiryNotices ${programId} 7`);
});

test("notices that are all off are gone", async () => {
  await server.programs.updateProgram({ program: { programId, notices: {} } });
  expect((await stored())?.notices).toBeUndefined();
});
