/** Tests what a validation finds in the store, and how many approvals its end requires. */
import { expect, test } from "vitest";
import { bulkGrantRef } from "../../../src/bulk-grants/ports/records.ts";
import { defaultBulkRules } from "../../../src/points/rules/bulk-rules.ts";
import { openStore, runAll, start, submit, validate } from "../../support/fixtures/bulk-steps.ts";
import { answerTo, programId, show } from "../../support/models/bulk-use-cases.ts";

/** One approval up to 100 points, two above. */
const rules = {
  ...defaultBulkRules,
  maxPointsPerRow: 1_000,
  maxTotalPoints: 10_000,
  tiers: [{ maxTotalPoints: 100, requiredApprovalCount: 1 }],
  requiredApprovalCount: 2,
};

/** Starts a bulk grant `b` whose second user is frozen. */
async function startWithFrozenUser() {
  const store = await openStore();
  const { deps } = store;
  await answerTo(deps, { op: "rules", rules });
  await submit(deps, "b", { u1: 80, u2: 10 });
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  await answerTo(deps, { op: "freeze", userId: "u2" });
  return store;
}

test("approvals rise with what earlier revisions granted and this sheet leaves out", async () => {
  const { deps } = await startWithFrozenUser();
  expect(await runAll(deps, "b", 1, 1)).toMatchObject({
    head: { state: "DONE_WITH_FAILURES", result: { grantedPoints: 80 } },
  });
  await submit(deps, "b", { u3: 80 });
  const digest = async () =>
    (await deps.reader.get(bulkGrantRef(programId, "b")))?.value.revision.digest;
  const submitted = await digest();
  expect(await validate(deps, "b", 2)).toMatchObject({
    head: { state: "AWAITING_APPROVAL", totalPoints: 80, requiredApprovalCount: 2 },
  });
  expect(await digest()).not.toBe(submitted);
});

test("a sheet that repeats what was granted needs no more approvals", async () => {
  const { deps } = await startWithFrozenUser();
  await runAll(deps, "b", 1, 1);
  await submit(deps, "b", { u1: 80, u3: 10 });
  expect(await validate(deps, "b", 2)).toMatchObject({
    head: { state: "AWAITING_APPROVAL", alreadyGrantedCount: 1, requiredApprovalCount: 1 },
  });
});

test("a row has all that is wrong with it, and counts once", async () => {
  const { deps } = await startWithFrozenUser();
  await runAll(deps, "b", 1, 1);
  await answerTo(deps, { op: "freeze", userId: "u1" });
  await submit(deps, "b", { u1: 70, u2: 2_000, u3: 10 });
  expect(await validate(deps, "b", 2)).toMatchObject({
    head: { state: "INVALID", invalidCount: 2 },
  });
  expect((await show(deps, "b", 10)).rows).toEqual([
    [2, "u1", "INVALID", "ID_REUSED", "ACCOUNT_FROZEN"],
    [3, "u2", "INVALID", "POINTS_ABOVE_CAP", "ACCOUNT_FROZEN"],
    [4, "u3", "NOT_RUN", "NOT_RUN"],
  ]);
});
