/** Tests bulk grants from sources: workflows that batch jobs start, and pick-ups of new files. */
import type { WorkflowFailedError } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { updateProgram } from "../../src/app/programs/commands.ts";
import { type BulkGrantResult, bulkGrantWorkflowId } from "../../src/contract/bulk-grants.ts";
import {
  type BulkGrantFromSourceInput,
  type PickUpResult,
  pickUpId,
} from "../../src/contract/sheet-sources.ts";
import { asService } from "../../src/domain/caller.ts";
import { formatInstant } from "../../src/domain/month.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { approve, balances, comesTo, readBulk } from "../support/fixtures/bulk-grants.ts";
import { createSourceFolder, type SourceFolder } from "../support/fixtures/source-folder.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let folder: SourceFolder;
let stack: WorkerStack;
beforeAll(async () => {
  folder = await createSourceFolder();
  stack = await startWorkerStack({ env: folder.env });
});
afterAll(async () => {
  await stack.stop();
  await folder.delete();
});

const start = (workflowId: string, input: Omit<BulkGrantFromSourceInput, "program_id">) =>
  stack.client.workflow.start("bulkGrantFromSource", {
    workflowId,
    taskQueue: stack.config.taskQueue,
    args: [{ program_id: stack.programId, ...input }],
  });

const approved = async (id: string) => {
  await approve(stack.deps, await comesTo(stack, id, "AWAITING_APPROVAL"));
};

describe("bulkGrantFromSource", () => {
  test("under the id of the bulk grant follows it itself", async () => {
    await folder.put("own.csv", ["own-1,10", "own-2,20"]);
    const source = "nightly/own.csv";
    const id = bulkGrantWorkflowId(stack.programId, "own");
    const run = await start(id, { bulk_grant_id: "own", source });
    await approved("own");
    expect(await run.result()).toMatchObject({
      state: "DONE",
      counts: { granted_count: 2, granted_points: 30 },
    });
    const { revision } = (await readBulk(stack, "own")).bulkGrant;
    expect(revision).toMatchObject({ submitter: asService("nightly-batch"), source });
  });

  test("started twice under other ids is one bulk grant, and both return its result", async () => {
    const date = formatInstant(Date.now(), "Asia/Tokyo").slice(0, 10);
    await folder.put(`${date}.csv`, ["dated-1,10"]);
    const input = { bulk_grant_id: "daily-{date}", source: "nightly/{date}.csv" };
    const runs = await Promise.all([start("cron-1", input), start("cron-2", input)]);
    await approved(`daily-${date}`);
    const [first, second] = (await Promise.all(runs.map((run) => run.result()))) as [
      BulkGrantResult,
      BulkGrantResult,
    ];
    expect(first).toMatchObject({ bulk_grant_id: `daily-${date}`, state: "DONE" });
    expect(second).toEqual(first);
    expect((await readBulk(stack, `daily-${date}`)).bulkGrant.revision.number).toBe(1);
    expect(await balances(stack, ["dated-1"])).toEqual({ 10: 1 });
  });

  test("fails with the reason of a refusal", async () => {
    const reasonOf = async (run: Awaited<ReturnType<typeof start>>) => {
      const error = (await run.result().catch((error) => error)) as WorkflowFailedError;
      return (error.cause as ApplicationFailure).type;
    };
    const missing = { bulk_grant_id: "missing", source: "nightly/missing.csv" };
    expect(await reasonOf(await start("missing", missing))).toBe("INVALID_REQUEST");
    await folder.put("bad.csv", ["a,1"]);
    const wrongTime = { bulk_grant_id: "bad", source: "nightly/bad.csv", execute_time: "noon" };
    expect(await reasonOf(await start("bad", wrongTime))).toBe("INVALID_REQUEST");
    const nothing = { bulk_grant_id: "", source: "" };
    expect(await reasonOf(await start("nothing", nothing))).toBe("INVALID_REQUEST");
    await folder.remove("bad.csv");
  });
});

describe("pickUpSheets", () => {
  const pickUp = (workflowId: string) =>
    stack.client.workflow.start("pickUpSheets", {
      workflowId,
      taskQueue: stack.config.taskQueue,
      args: [{ source_name: "nightly", program_id: stack.programId }],
    });

  test("takes each file once when two pick-ups overlap, and a bad one stops none", async () => {
    for (const file of await folder.sheetsIn(".")) await folder.remove(file);
    await updateProgram(stack.deps, {
      programId: stack.programId,
      bulkRules: {
        maxPointsPerRow: 1_000,
        maxTotalPoints: 10_000,
        tiers: [],
        requiredApprovalCount: 0,
      },
      deadline: undefined,
    });
    for (const name of ["a", "b", "c"]) await folder.put(`${name}.csv`, [`picked-${name},10`]);
    await folder.put("invalid.csv", ["picked-twice,1", "picked-twice,1"]);
    await folder.put("unreadable.csv", ['"picked,1']);
    const runs = await Promise.all([pickUp("pick-up-1"), pickUp("pick-up-2")]);
    const results = (await Promise.all(runs.map((run) => run.result()))) as PickUpResult[];
    expect(await folder.sheetsIn("done")).toEqual(["a.csv", "b.csv", "c.csv"]);
    expect(await folder.sheetsIn("failed")).toEqual(["invalid.csv", "unreadable.csv"]);
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
    const last = await pickUp("pick-up-3");
    expect(await last.result()).toEqual({ submitted: [], failed: [], left: [] });
  });

  test("takes corrected files and exported sheets as revisions of one campaign", async () => {
    let run = 0;
    const dropped = async (name: string, lines: readonly string[], columns?: string) => {
      await folder.put(name, lines, columns);
      run += 1;
      return (await (await pickUp(`corrections-${run}`)).result()) as PickUpResult;
    };
    const granted = (id: string) => comesTo(stack, id, "DONE");
    const wrong = ["fix-1,10", "fix-2,10", "fix-2,10"];
    await dropped("fix.csv", wrong);
    expect((await readBulk(stack, "fix")).bulkGrant.state).toBe("INVALID");
    // A corrected file of the same name, and then an exported sheet of another name.
    await dropped("fix.csv", ["fix-1,10", "fix-3,10"]);
    expect((await granted("fix")).revision.number).toBe(2);

    await dropped("more.csv", ["more-1,10", "more-1,20"]);
    await dropped("failed rows of more.csv", ["more-2,10,more"], "user_id,points,bulk_grant_id");
    expect((await granted("more")).revision).toMatchObject({ number: 2, rowCount: 1 });

    const messageOf = ({ failed: [file] }: PickUpResult) => `${file?.reason}: ${file?.message}`;
    expect(messageOf(await dropped("fix.csv", ["fix-1,10", "fix-3,10"]))).toBe(
      "WRONG_STATE: fix has granted this sheet already; another grant needs another name",
    );
    expect(messageOf(await dropped("fix.csv", wrong))).toBe(
      "WRONG_STATE: revision 1 of fix had this content and was replaced",
    );
    expect(messageOf(await dropped("fix.csv", ["fix-9,10"]))).toMatch(/^WRONG_STATE: .*DONE/);
    expect(messageOf(await dropped("x.csv", ["x,10,a b"], "user_id,points,bulk_grant_id"))).toMatch(
      /^INVALID_REQUEST: bulk_grant_id: .*; found `a b`: a blank$/,
    );
    expect(await balances(stack, ["fix-1", "fix-3", "more-2"])).toEqual({ 10: 3 });
    expect(await balances(stack, ["fix-2", "fix-9", "more-1", "x"])).toEqual({ 0: 4 });
  });

  test("has a schedule, which is left alone until its times change", async () => {
    const { workflows, deps, client, programId } = stack;
    const nightly = { name: "nightly", programId, cron: "0 6 * * *", timeZone: "Asia/Tokyo" };
    const ensure = (cron: string) =>
      patiently(() => ensureSchedules(workflows, deps.reader, [{ ...nightly, cron }]));
    const schedule = client.schedule.getHandle(pickUpId("nightly"));
    await ensure("0 6 * * *");
    await ensure("0 6 * * *");
    const first = await schedule.describe();
    expect(first.info.lastUpdatedAt).toBeUndefined();
    expect(first.spec).toMatchObject({ timezone: "Asia/Tokyo" });
    expect(first.spec.calendars?.[0]?.hour).toEqual([{ start: 6, end: 6, step: 1 }]);
    expect(first.policies).toMatchObject({ overlap: "SKIP", catchupWindow: 3_600_000 });
    await ensure("30 7 * * *");
    const second = await schedule.describe();
    expect(second.spec.calendars?.[0]?.hour).toEqual([{ start: 7, end: 7, step: 1 }]);
    await schedule.delete();
  });
});
