/** Tests updates of programs: all that changes in one transaction, then the schedule. */
import { expect, test } from "vitest";
import type { Deps } from "../../../../src/hub/deps.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { type BulkRules, defaultBulkRules } from "../../../../src/points/rules/bulk-rules.ts";
import type { ProgramNotices } from "../../../../src/points/rules/program.ts";
import { grantPoints } from "../../../../src/points/use-cases/commands.ts";
import {
  createProgram,
  updateProgram,
} from "../../../../src/points/use-cases/programs/commands.ts";
import { getProgram, withRules } from "../../../../src/points/use-cases/programs/queries.ts";
import { getBalance } from "../../../../src/points/use-cases/queries.ts";
import { verifyAccount } from "../../../../src/points/use-cases/verify.ts";
import { enforceRules } from "../../../support/fixtures/bulk-rules.ts";
import { recordWorkflows } from "../../../support/servers/recording-workflows.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const programId = "p";
const week = { expiryDays: 7, reservedGrants: false };
const capped: BulkRules = {
  ...defaultBulkRules,
  maxPointsPerRow: 500,
  maxTotalPoints: 10_000,
  requiredApprovalCount: 0,
};

interface Change {
  readonly lifetimeMonths?: number;
  readonly notices?: ProgramNotices;
  readonly bulkRules?: BulkRules;
  readonly reservationShardCount?: number;
}

/** A program of three months, whose rules need nobody; background tasks run when a test says so. */
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
  await enforceRules(deps, programId, { requiredApprovalCount: 0 });
  store.resetStats();
  const update = async ({ reservationShardCount, ...rules }: Change) => {
    const updated = await updateProgram(deps, {
      ...{ programId, rules, reservationShardCount },
      ...{ caller: asService("ann"), deadline: undefined },
    });
    return { ...updated.program, bulkRules: updated.bulkRules };
  };
  const stored = async () => {
    const { program, bulkRules } = await withRules(deps, await getProgram(deps, programId));
    return { ...program, bulkRules };
  };
  return { store, workflows, tasks, update, stored };
}

test("all that is given changes in one transaction, and leaves what is not given", async () => {
  const { store, update, stored } = await programFixture();
  const all = await update({ lifetimeMonths: 6, notices: week, bulkRules: capped });
  expect(store.stats.commits).toBe(1);
  expect(all).toMatchObject({ notices: week, bulkRules: capped });
  expect(all.lifetimes.map(({ lifetimeMonths }) => lifetimeMonths)).toEqual([3, 6]);
  expect(await stored()).toEqual(all);

  const grants = { expiryDays: 0, reservedGrants: true };
  const quieter = await update({ notices: grants });
  expect(quieter).toEqual({ ...all, notices: grants });
  const laxer = { ...capped, maxPointsPerRow: 600 };
  expect(await update({ bulkRules: laxer })).toEqual({ ...quieter, bulkRules: laxer });
  expect(await update({ reservationShardCount: 64 })).toMatchObject({
    ...{ reservationShardCount: 64, notices: grants, bulkRules: laxer },
  });
  const longer = await update({ lifetimeMonths: 12 });
  expect(longer).toMatchObject({ notices: grants, reservationShardCount: 64 });
  expect(longer.lifetimes).toHaveLength(3);
});

test("an update that changes nothing writes nothing", async () => {
  const { store, update } = await programFixture();
  const before = await update({ notices: week, bulkRules: capped });
  store.resetStats();
  expect(await update({})).toEqual(before);
  const same = {
    lifetimeMonths: 3,
    notices: week,
    bulkRules: { ...capped },
    reservationShardCount: 16,
  };
  expect(await update(same)).toEqual(before);
  expect(store.stats.commits).toBe(0);
});

test("a refused lifetime or rule changes nothing else and sets no schedule", async () => {
  const { update, stored, tasks } = await programFixture();
  const before = await stored();
  const shorter = update({ lifetimeMonths: 2, notices: week, bulkRules: capped });
  await expect(shorter).rejects.toMatchObject({ reason: "WRONG_STATE" });
  const fewer = update({ lifetimeMonths: 6, reservationShardCount: 4 });
  await expect(fewer).rejects.toMatchObject({ reason: "WRONG_STATE" });
  const bulkRules = { ...capped, maxTotalPoints: 0 };
  const uncapped = update({ lifetimeMonths: 6, notices: week, bulkRules });
  await expect(uncapped).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
  expect(await stored()).toEqual(before);
  expect(tasks).toEqual([]);
});

test("the schedule follows the stored notices, also when an earlier task comes last", async () => {
  const { update, tasks, workflows } = await programFixture();
  await update({ lifetimeMonths: 6 });
  for (const task of tasks) await task();
  expect(workflows.calls).toEqual([]);
  await update({ notices: week });
  await update({ notices: { ...week, expiryDays: 3 } });
  for (const task of tasks.toReversed()) await task();
  const call = `ensureExpiryNotices ${programId} 3`;
  expect(workflows.calls).toEqual([call, call]);
});

test("a lengthening that the network holds leaves what has expired meanwhile", async () => {
  const { deps, store, clock, process } = memoryDeps({ time: Date.UTC(2026, 0, 10) });
  await createProgram(deps, { programId, timeZone: "UTC", lifetimeMonths: 1 });
  await enforceRules(deps, programId, { requiredApprovalCount: 0 });
  const account = { programId, userId: "u" };
  const caller = asService("ann");
  const grant = (server: Deps, eventId: string) =>
    grantPoints(server, { ...account, eventId, points: 5, reason: "", cause: "", caller });
  await grant(deps, "january");
  clock.time = Date.UTC(2026, 0, 31, 23, 50);
  const { promise: delivered, resolve: deliver } = Promise.withResolvers<void>();
  const { promise: sent, resolve: send } = Promise.withResolvers<void>();
  store.arriving = async ({ writes }) => {
    if (writes.some(({ ref }) => ref.kind === "program")) {
      send();
      await delivered;
    }
    return undefined;
  };
  const update = updateProgram(deps, { programId, rules: { lifetimeMonths: 12 }, caller });
  await sent;
  // The points of January end five minutes before this grant.
  clock.time = Date.UTC(2026, 1, 1, 0, 5);
  await grant(process(), "february");
  deliver();
  await update;
  clock.time = Date.UTC(2026, 1, 1, 1);
  const { differences } = await verifyAccount(deps, account, false);
  const { availablePoints } = await getBalance(deps, account);
  expect({ differences, availablePoints }).toEqual({ differences: [], availablePoints: 5 });
  const { program } = await withRules(deps, await getProgram(deps, programId));
  // It would have saved them if it had been in effect before their end.
  expect(program.lifetimes[1]?.effectiveTime).toBeGreaterThan(Date.UTC(2026, 1, 1));
});
