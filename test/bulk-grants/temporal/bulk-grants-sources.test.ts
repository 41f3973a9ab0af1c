/** Tests the workflow by which batch jobs take a sheet of a source, and the pick-ups' schedule. */
import type { WorkflowFailedError } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type BulkGrantResult,
  bulkGrantHowToEnd,
  bulkGrantWorkflowId,
} from "../../../src/bulk-grants/contract/bulk-grants.ts";
import {
  type BulkGrantFromSourceInput,
  pickUpId,
  waitHowToEnd,
} from "../../../src/bulk-grants/contract/sheet-sources.ts";
import { approveBulkGrant } from "../../../src/bulk-grants/use-cases/commands.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { escapeMarkdown } from "../../../src/platform/words/markdown.ts";
import { formatInstant } from "../../../src/platform/words/month.ts";
import { eventRef } from "../../../src/points/ports/records.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { ensureSchedules } from "../../../src/temporal/schedules.ts";
import { recentActs } from "../../support/acts/list.ts";
import { approve, balances, comesTo, readBulk } from "../../support/fixtures/bulk-grants.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import type { SourceFolder } from "../../support/fixtures/source-folder.ts";
import { patiently } from "../../support/fixtures/waiting.ts";
import type { GoogleServer } from "../../support/servers/google-server.ts";
import {
  addSpreadsheet,
  columns,
  type SourceStack,
  startSourceStack,
  urlOf,
} from "../../support/servers/source-stack.ts";
import type { WorkerStack } from "../../support/servers/worker.ts";

let sources: SourceStack;
let stack: WorkerStack;
let folder: SourceFolder;
let google: GoogleServer;
beforeAll(async () => {
  sources = await startSourceStack();
  ({ stack, folder, google } = sources);
});
afterAll(() => sources.stop());

type Input = Omit<BulkGrantFromSourceInput, "program_id"> & { readonly program_id?: string };

const start = (workflowId: string, input: Input) =>
  stack.client.workflow.start("bulkGrantFromSource", {
    workflowId,
    taskQueue: stack.config.taskQueue,
    args: [{ program_id: stack.programId, ...input }],
  });

const approved = async (id: string) => {
  await approve(stack.deps, await comesTo(stack, id, "AWAITING_APPROVAL"));
};

describe.concurrent("bulkGrantFromSource", () => {
  test("under the id of the bulk grant follows it itself", async () => {
    await folder.put("own.csv", ["own-1,10", "own-2,20"]);
    const source = "nightly/own.csv";
    const id = bulkGrantWorkflowId(stack.programId, "own");
    const run = await start(id, { bulk_grant_id: "own", source, cause: "*spring*" });
    const details = await showsDetails(run, "- cause: \\*spring\\*\n");
    expect(details.indexOf(`${bulkGrantHowToEnd}\n\n**`)).toBe(0);
    await approved("own");
    expect(await run.result()).toMatchObject({
      state: "DONE",
      counts: { granted_count: 2, granted_points: 30 },
    });
    const { revision } = (await readBulk(stack, "own")).bulkGrant;
    const { identity: subject = "" } = stack.client.options;
    const starter = { service: "temporal", subject };
    expect(revision).toMatchObject({ submitter: asService("nightly-batch"), source, starter });
    expect(revision.cause).toBe("*spring*");
    const key = eventRef(stack.programId, "own-1", "b:own_own-1");
    expect((await stack.deps.reader.get(key))?.value.entry.cause).toBe("*spring*");
  });

  test("started twice under other ids is one bulk grant, and both return its result", async () => {
    const date = formatInstant(Date.now(), "Asia/Tokyo").slice(0, 10);
    await folder.put(`${date}.csv`, ["dated-1,10"]);
    const title = "日次 {date}";
    const input = { bulk_grant_id: "daily-{date}", source: "nightly/{date}.csv", title };
    const runs = await Promise.all([start("cron-1", input), start("cron-2", input)]);
    const workflowId = bulkGrantWorkflowId(stack.programId, `daily-${date}`);
    const waits = `${waitHowToEnd}\n\nWaits for ${escapeMarkdown(workflowId)}.`;
    for (const run of runs) expect(await showsDetails(run, "Waits for")).toBe(waits);
    await approved(`daily-${date}`);
    const [first, second] = (await Promise.all(runs.map((run) => run.result()))) as [
      BulkGrantResult,
      BulkGrantResult,
    ];
    expect(first).toMatchObject({ bulk_grant_id: `daily-${date}`, state: "DONE" });
    expect(second).toEqual(first);
    const { revision } = (await readBulk(stack, `daily-${date}`)).bulkGrant;
    expect(revision).toMatchObject({ number: 1, title: `日次 ${date}` });
    expect(await balances(stack, ["dated-1"])).toEqual({ 10: 1 });
  });

  test("reads the sheet in the encoding of its input, without rows of 0 points", async () => {
    await folder.put("named.csv", ["named-1,10,é", "named-2,0,"], "user_id,points,reason");
    const bulk_grant_id = "named";
    const options = { encoding: "windows-1252", skip_zero: true } as const;
    const input = { bulk_grant_id, source: "nightly/named.csv", ...options };
    const run = await start(bulkGrantWorkflowId(stack.programId, bulk_grant_id), input);
    expect(await showsDetails(run, "- sheet: ")).toContain(
      "read as CSV in Windows-1252 with commas: user_id, points, reason; " +
        "1 row of 0 points left out; line 2: 10 points to `named-1` for ‘Ã©’",
    );
    await run.cancel();
  });

  test("names its starter, who cannot approve it: a person, or the schedule", async () => {
    await folder.put("started.csv", ["started-1,10"]);
    const source = "nightly/started.csv";
    const input = { bulk_grant_id: "by-mei", source, subject: "Mei" };
    const run = await start(bulkGrantWorkflowId(stack.programId, "by-mei"), input);
    const waiting = await comesTo(stack, "by-mei", "AWAITING_APPROVAL");
    const starter = { service: "temporal", subject: "Mei" };
    expect(waiting.actions).toMatchObject([{ action: "SUBMIT", starter }]);
    const acts = await recentActs(stack.deps, stack.programId);
    expect(acts.filter(({ objectId }) => objectId === "by-mei")).toMatchObject([
      {
        ...{ caller: starter, via: "TEMPORAL", method: "SubmitBulkGrant" },
        changes: expect.arrayContaining([{ field: "source", before: "", after: source }]),
      },
    ]);
    expect(await showsDetails(run, "Waits for 1 approval")).toContain(
      "- started by: Mei via temporal\n",
    );
    const { programId, bulkGrantId, revision } = waiting;
    const approval = { programId, bulkGrantId, digest: revision.digest, reason: "" };
    const byMei = { ...approval, caller: { service: "desk", subject: "mei" } };
    await expect(approveBulkGrant(stack.deps, byMei)).rejects.toMatchObject({
      reason: "SELF_APPROVAL",
    });
    await run.cancel();

    const schedule = await stack.client.schedule.create({
      scheduleId: "job",
      spec: {},
      action: {
        type: "startWorkflow",
        workflowType: "bulkGrantFromSource",
        taskQueue: stack.config.taskQueue,
        args: [{ program_id: programId, bulk_grant_id: "by-job", source }],
      },
    });
    await schedule.trigger();
    expect((await comesTo(stack, "by-job", "AWAITING_APPROVAL")).revision.starter).toEqual({
      service: "temporal",
      subject: "schedule/job",
    });
    await schedule.delete();
    await folder.remove("started.csv");
  });

  test("takes a spreadsheet of a Drive folder by its name", async () => {
    const rows = [...columns, ["by-name-1", 10], ["by-name-1", 20]];
    const { id, rowsOf, setRows } = addSpreadsheet(sources, "11/2026 'by name'", rows);
    const source = "campaigns/11/2026 'by name'";
    const workflow = bulkGrantWorkflowId(stack.programId, "by-name");
    const input = { bulk_grant_id: "by-name", source };
    expect(await (await start(workflow, input)).result()).toMatchObject({ state: "INVALID" });
    expect(rowsOf("failed by-name r1")?.map(([userId]) => userId)).toEqual([
      "user_id",
      ...Array(2).fill("by-name-1"),
    ]);
    setRows("Sheet1", rows.slice(0, 2));
    const run = await start(workflow, input);
    await approved("by-name");
    expect(await run.result()).toMatchObject({ state: "DONE", revision: 2 });
    google.drive.trash(id);
    const { revision } = (await readBulk(stack, "by-name")).bulkGrant;
    expect(revision).toMatchObject({ source, sourceUrl: urlOf(id) });
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
    const wrongTitle = { bulk_grant_id: "bad", source: "nightly/bad.csv", title: "\u200b\n" };
    expect(await reasonOf(await start("title", wrongTitle))).toBe("INVALID_REQUEST");
    const other = { program_id: "other", bulk_grant_id: "bad", source: "nightly/bad.csv" };
    await createProgram(stack.deps, {
      programId: "other",
      timeZone: "Asia/Tokyo",
      lifetimeMonths: 12,
    });
    expect(await reasonOf(await start("other", other))).toBe("PERMISSION_DENIED");
    const nothing = { bulk_grant_id: "", source: "" };
    expect(await reasonOf(await start("nothing", nothing))).toBe("INVALID_REQUEST");
    await folder.remove("bad.csv");
  });
});

describe.concurrent("pickUpSheets", () => {
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
