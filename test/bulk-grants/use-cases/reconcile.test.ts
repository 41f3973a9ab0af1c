/** Tests what a pass of the reconciler does for bulk grants. */
import { expect, test } from "vitest";
import { startUpload } from "../../../src/bulk-grants/use-cases/pending-uploads.ts";
import {
  dropOldUploads,
  startActiveBulkGrants,
} from "../../../src/bulk-grants/use-cases/reconcile.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";
import { openStore, start, submit, validate } from "../../support/fixtures/bulk-steps.ts";
import { answerTo } from "../../support/models/bulk-use-cases.ts";
import { recordWorkflows } from "../../support/servers/recording-workflows.ts";

const hourMs = 3_600_000;

const unexpected = (name: unknown, error: unknown) => {
  throw new Error(`nothing fails here: ${JSON.stringify(name)}`, { cause: error });
};

/** What a pass asks of Temporal. */
async function callsOfPass(deps: Deps): Promise<readonly string[]> {
  const workflows = recordWorkflows();
  await startActiveBulkGrants({ ...deps, workflows }, unexpected);
  return workflows.calls;
}

test("the run of a cancelled bulk grant is signalled again after a minute", async () => {
  const { deps, clock } = await openStore();
  await submit(deps, "b", { u1: 10 });
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  clock.time += hourMs;
  expect(await callsOfPass(deps)).toEqual(["startBulkGrant p b"]);
  await answerTo(deps, { op: "cancel", id: "b", by: "ann" });
  clock.time += 60_000;
  expect(await callsOfPass(deps)).toEqual(["startBulkGrant p b"]);
  clock.time += 1;
  expect(await callsOfPass(deps)).toEqual(["refreshBulkGrant p b"]);
});

test("a run is started for a cancelled bulk grant when it is to be counted again", async () => {
  const { deps, clock } = await openStore();
  await submit(deps, "b", { u1: 10 });
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  await answerTo(deps, { op: "cancel", id: "b", by: "ann" });
  await answerTo(deps, { op: "finish", id: "b", run: 1 });
  clock.time += lateEntriesMs - 1;
  expect(await callsOfPass(deps)).toEqual([]);
  clock.time += 1;
  expect(await callsOfPass(deps)).toEqual(["startBulkGrant p b"]);
  const workflows = recordWorkflows();
  const { byState } = await startActiveBulkGrants({ ...deps, workflows }, unexpected);
  expect(new Set(byState.values())).toEqual(new Set([0]));
  await answerTo(deps, { op: "finish", id: "b", run: 1 });
  expect(await callsOfPass(deps)).toEqual([]);
});

test("the run of an approved bulk grant is signalled again a minute after it is due", async () => {
  const { deps, clock } = await openStore();
  await submit(deps, "b", { u1: 10 });
  await validate(deps, "b", 1);
  await answerTo(deps, { op: "approve", id: "b", by: "ben", revision: 1 });
  clock.time += 60_000;
  expect(await callsOfPass(deps)).toEqual(["startBulkGrant p b"]);
  clock.time += 1;
  expect(await callsOfPass(deps)).toEqual(["refreshBulkGrant p b"]);
});

test("a pass counts the active bulk grants, and how long the oldest one waits", async () => {
  const { deps, clock } = await openStore();
  for (const id of ["old", "young", "runs", "paused"]) {
    await submit(deps, id, { u1: 10 });
    if (id !== "young") await validate(deps, id, 1);
    clock.time += 60_000;
  }
  await start(deps, "runs", 1);
  await start(deps, "paused", 1);
  await answerTo(deps, { op: "pause", id: "paused", by: "ann" });
  expect(
    await startActiveBulkGrants({ ...deps, workflows: recordWorkflows() }, unexpected),
  ).toEqual({
    byState: new Map([
      ["VALIDATING", 1],
      ["AWAITING_APPROVAL", 1],
      ["APPROVED", 0],
      ["RUNNING", 1],
      ["PAUSED", 1],
    ]),
    waiting: { count: 1, oldestMs: 240_000 },
  });
});

test("only uploads that began a day ago are dropped", async () => {
  const { deps, clock } = await openStore();
  const row = { line: 2, userId: "u1", points: 1, reason: "" };
  for (const uploadId of ["old", "young"]) {
    await startUpload(deps, uploadId, clock.time);
    await deps.sheets.putBlock(uploadId, 0, [row]);
    clock.time += 1;
  }
  clock.time += 24 * hourMs - 2;
  await dropOldUploads(deps, unexpected);
  const { items } = await deps.reader.pendingUploads({ size: 10, cursor: undefined });
  expect(items.map(({ uploadId }) => uploadId)).toEqual(["young"]);
  expect(await deps.reader.rowsOfBlock("old", 0)).toEqual([]);
  expect(await deps.reader.rowsOfBlock("young", 0)).toEqual([row]);
});
