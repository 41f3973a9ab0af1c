/** Tests pick-ups of new files: each is taken once, and leads to what is wrong with it. */
import type { WorkflowFailedError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PickUpResult } from "../../../src/bulk-grants/contract/sheet-sources.ts";
import {
  approve,
  balances,
  bulkGrantRun,
  comesTo,
  readBulk,
} from "../../support/fixtures/bulk-grants.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { freeze } from "../../support/fixtures/reservations.ts";
import type { SourceFolder } from "../../support/fixtures/source-folder.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  needNoApproval,
  pickUp,
  type SourceStack,
  startSourceStack,
} from "../../support/servers/source-stack.ts";
import type { WorkerStack } from "../../support/servers/worker.ts";

let sources: SourceStack;
let stack: WorkerStack;
let folder: SourceFolder;
beforeAll(async () => {
  sources = await startSourceStack();
  ({ stack, folder } = sources);
});
afterAll(() => sources.stop());

const approved = async (id: string) => {
  await approve(stack.deps, await comesTo(stack, id, "AWAITING_APPROVAL"));
};

describe("pickUpSheets", () => {
  test("leads to the rows of a run that were not granted", async () => {
    await folder.put("frozen.csv", ["frozen-1,10", "frozen-2,10"]);
    await (await pickUp(stack, "frozen")).result();
    expect(await folder.sheetsIn("done")).toContain("frozen.csv");
    await freeze(stack, "frozen-1", true);
    await approved("frozen");
    await eventually(async () => {
      const { bulkGrant } = await readBulk(stack, "frozen");
      expect(bulkGrant).toMatchObject({ state: "DONE_WITH_FAILURES", report: "SENT" });
      expect(bulkGrant.failedRowsAt).toEqual({ name: "nightly/failed/frozen.errors.csv" });
      expect(bulkGrant.movedTo).toEqual({ name: "nightly/done/frozen.csv" });
    });
    await showsDetails(
      bulkGrantRun(stack, "frozen"),
      "The rows that were not granted are in nightly/failed/frozen",
    );
    expect(await folder.read("failed/frozen.errors.csv")).toMatch(/"frozen-1".*"ACCOUNT_FROZEN"/);
    for (const file of ["done/frozen.csv", "failed/frozen.errors.csv"]) await folder.remove(file);
  });

  test("takes each file once when two pick-ups overlap, and a bad one stops none", async () => {
    await needNoApproval(stack);
    for (const name of ["a", "b", "c"]) await folder.put(`${name}.csv`, [`picked-${name},10`]);
    await folder.put("invalid.csv", ["picked-twice,1", "picked-twice,1"]);
    await folder.put("unreadable.csv", ["picked,1"], "user,points");
    const runs = await Promise.all([pickUp(stack, "pick-up-1"), pickUp(stack, "pick-up-2")]);
    const results = (await Promise.all(runs.map((run) => run.result()))) as PickUpResult[];
    // A pick-up that finds a name reserved by the other one may move its file under the next name.
    const movedTo = async (to: string) =>
      (await folder.sheetsIn(to)).map((name) => name.replace("-2.csv", ".csv"));
    expect(await movedTo("done")).toEqual(["a.csv", "b.csv", "c.csv"]);
    expect(await movedTo("failed")).toEqual([
      "invalid.csv",
      "invalid.errors.csv",
      "unreadable.csv",
      "unreadable.errors.csv",
    ]);
    expect(await folder.sheetsIn(".")).toEqual([]);
    const submitted = new Set(results.flatMap(({ submitted }) => submitted));
    expect([...submitted].map((source) => source.replace(/#.*/, "")).toSorted()).toEqual([
      "nightly/a.csv",
      "nightly/b.csv",
      "nightly/c.csv",
    ]);
    const reasons = new Set(results.flatMap(({ failed }) => failed.map(({ reason }) => reason)));
    expect([...reasons].toSorted()).toEqual(["INVALID", "INVALID_REQUEST"]);
    await eventually(async () => {
      expect(await balances(stack, ["picked-a", "picked-b", "picked-c"])).toEqual({ 10: 3 });
    });
    const last = await pickUp(stack, "pick-up-3");
    expect(await last.result()).toEqual({ submitted: [], failed: [], left: [] });
  });

  test("leaves the files of a source that may not grant in its program", async () => {
    await folder.put("foreign.csv", ["foreign-1,10"]);
    const run = await stack.client.workflow.start("pickUpSheets", {
      workflowId: "pick-up-foreign",
      taskQueue: stack.config.taskQueue,
      args: [{ source_name: "nightly", program_id: "default" }],
    });
    const error = (await run.result().catch((error) => error)) as WorkflowFailedError;
    expect(error.cause?.message).toContain(
      "the source nightly may not grant in the program default",
    );
    expect(await folder.sheetsIn(".")).toEqual(["foreign.csv"]);
    await folder.remove("foreign.csv");
  });

  test("leads to the errors of a file, which are corrected and dropped again", async () => {
    await folder.put("wrong.csv", ["wrong-1,10", "wrong-2,x", "wrong-3,0"]);
    await folder.put("broken.csv", ["broken-1,10,1", "broken-2,x,1"], "user_id,points,colour");
    const { failed } = (await (await pickUp(stack, "errors-1")).result()) as PickUpResult;
    expect(failed.toSorted((a, b) => (a.source < b.source ? -1 : 1))).toMatchObject([
      {
        reason: "INVALID_REQUEST",
        errors_at: "nightly/failed/broken.errors.csv",
        moved_to: "nightly/failed/broken.csv",
      },
      {
        reason: "INVALID",
        errors_at: "nightly/failed/wrong.errors.csv",
        moved_to: "nightly/failed/wrong.csv",
      },
    ]);
    const codes = (csv: string) => csv.match(/[A-Z]+_[A-Z]+/g);
    const broken = await folder.read("failed/broken.errors.csv");
    expect(codes(broken)).toEqual(["COLUMN_UNKNOWN", "POINTS_MALFORMED"]);
    const wrong = await folder.read("failed/wrong.errors.csv");
    expect(codes(wrong)).toEqual(["NOT_RUN", "POINTS_MALFORMED", "POINTS_ZERO"]);

    const [header = "", ...lines] = wrong.trim().split("\r\n");
    const corrected = lines.map((line) => line.replace(/"(x|0)"/, '"10"'));
    await folder.put("wrong.errors.csv", corrected, header);
    await (await pickUp(stack, "errors-2")).result();
    expect((await comesTo(stack, "wrong", "DONE")).revision.number).toBe(2);
    expect(await folder.sheetsIn("done")).toContain("wrong.errors.csv");
  });
});
