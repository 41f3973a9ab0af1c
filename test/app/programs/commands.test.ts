/** Tests updates of programs: lifetime and notices in one transaction, then the schedule. */
import { expect, test } from "vitest";
import { programRef } from "../../../src/app/ports/records.ts";
import { createProgram, updateProgram } from "../../../src/app/programs/commands.ts";
import type { ProgramNotices } from "../../../src/domain/program.ts";
import { recordWorkflows } from "../../support/servers/recording-workflows.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "p";
const week = { expiryDays: 7, reservedGrants: false };

/** A program of three months, whose background tasks run when the test says so. */
async function programFixture() {
  const { deps: base, store } = memoryDeps();
  const workflows = recordWorkflows();
  const tasks: (() => Promise<void>)[] = [];
  const background = (task: () => Promise<void>) => void tasks.push(task);
  const deps = { ...base, workflows, background };
  await createProgram(
    { ...deps, background: () => {} },
    { programId, timeZone: "UTC", lifetimeMonths: 3 },
  );
  store.resetStats();
  const update = (change: { lifetimeMonths?: number; notices?: ProgramNotices }) =>
    updateProgram(deps, { programId, deadline: undefined, ...change });
  const stored = async () => (await deps.reader.get(programRef(programId)))?.value;
  return { store, workflows, tasks, update, stored };
}

test("lifetime and notices change in one transaction, and each leaves the other", async () => {
  const { store, update, stored } = await programFixture();
  const both = await update({ lifetimeMonths: 6, notices: week });
  expect(store.stats.commits).toBe(1);
  expect(both).toMatchObject({ notices: week });
  expect(both.lifetimes.map(({ lifetimeMonths }) => lifetimeMonths)).toEqual([3, 6]);
  expect(await stored()).toEqual(both);

  const grants = { expiryDays: 0, reservedGrants: true };
  const quieter = await update({ notices: grants });
  expect(quieter).toEqual({ ...both, notices: grants });
  const longer = await update({ lifetimeMonths: 12 });
  expect(longer).toMatchObject({ notices: grants });
  expect(longer.lifetimes).toHaveLength(3);
});

test("an update that changes nothing writes nothing", async () => {
  const { store, update } = await programFixture();
  const before = await update({ notices: week });
  store.resetStats();
  expect(await update({})).toEqual(before);
  expect(await update({ lifetimeMonths: 3, notices: week })).toEqual(before);
  expect(store.stats.commits).toBe(0);
});

test("a refused lifetime sets no notices and no schedule", async () => {
  const { update, stored, tasks } = await programFixture();
  const before = await stored();
  await expect(update({ lifetimeMonths: 2, notices: week })).rejects.toMatchObject({
    reason: "WRONG_STATE",
  });
  expect(await stored()).toEqual(before);
  expect(tasks).toEqual([]);
});

test("the schedule follows the stored notices, also when an earlier task comes last", async () => {
  const { update, tasks, workflows } = await programFixture();
  await update({ lifetimeMonths: 6 });
  expect(tasks).toEqual([]);
  await update({ notices: week });
  await update({ notices: { ...week, expiryDays: 3 } });
  for (const task of tasks.toReversed()) await task();
  const call = `ensureExpiryNotices ${programId} 3`;
  expect(workflows.calls).toEqual([call, call]);
});
