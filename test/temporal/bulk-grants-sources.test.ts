/** Tests bulk grants from sources: workflows that batch jobs start, and pick-ups of new files. */
import type { WorkflowFailedError } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { approveBulkGrant } from "../../src/app/bulk-grants/commands.ts";
import { eventRef } from "../../src/app/ports/records.ts";
import { createProgram } from "../../src/app/programs/commands.ts";
import { type BulkGrantResult, bulkGrantWorkflowId } from "../../src/contract/bulk-grants.ts";
import {
  type BulkGrantFromSourceInput,
  type PickUpResult,
  pickUpId,
} from "../../src/contract/sheet-sources.ts";
import { asService } from "../../src/domain/caller.ts";
import { formatInstant } from "../../src/domain/month.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import {
  approve,
  balances,
  bulkGrantRun,
  comesTo,
  readBulk,
} from "../support/fixtures/bulk-grants.ts";
import { enforceRules } from "../support/fixtures/bulk-rules.ts";
import { showsDetails } from "../support/fixtures/operators.ts";
import { freeze } from "../support/fixtures/reservations.ts";
import { createSourceFolder, type SourceFolder } from "../support/fixtures/source-folder.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { type GoogleServer, startGoogleServer } from "../support/servers/google-server.ts";
import type { Cell } from "../support/servers/google-spreadsheet.ts";
import { type SlackServer, startSlackServer } from "../support/servers/slack-server.ts";
import { approversFile, startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let folder: SourceFolder;
let google: GoogleServer;
let slack: SlackServer;
let driveFolder: string;
let stack: WorkerStack;
beforeAll(async () => {
  google = await startGoogleServer();
  slack = await startSlackServer();
  driveFolder = google.drive.addFolder("campaigns");
  const { keyFile: key_file, endpoint } = google;
  const campaigns = {
    ...{ name: "campaigns", identity: "campaigns", type: "drive" },
    ...{ folder_id: driveFolder, key_file, endpoint, programs: ["sheets"] },
  };
  folder = await createSourceFolder([campaigns]);
  stack = await startWorkerStack({
    programId: folder.programId,
    env: {
      ...folder.env,
      MEGURI_SLACK_WEBHOOK_URL: slack.webhookUrl,
      MEGURI_TEMPORAL_APPROVALS: approversFile,
    },
  });
});
afterAll(async () => {
  await stack.stop();
  await folder.delete();
  await google.close();
  await slack.stop();
});

const columns = [["user_id", "points"]];

const addSpreadsheet = (name: string, rows: readonly (readonly Cell[])[]) =>
  google.addSpreadsheet({ name, folderId: driveFolder, rows });

const urlOf = (id: string, rest = "?usp=drivesdk") =>
  `https://docs.google.com/spreadsheets/d/${id}/edit${rest}`;

type Input = Omit<BulkGrantFromSourceInput, "program_id"> & { readonly program_id?: string };

const linkOf = (id: string) => `https://drive.google.com/file/d/${id}/view?usp=drivesdk`;

const start = (workflowId: string, input: Input) =>
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
    const run = await start(id, { bulk_grant_id: "own", source, cause: "*spring*" });
    await showsDetails(run, "- cause: \\*spring\\*\n");
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

  test("names its starter, who cannot approve it: a person, or the schedule", async () => {
    await folder.put("started.csv", ["started-1,10"]);
    const source = "nightly/started.csv";
    // The file of those who may approve by Updates has this name of hers, too.
    const input = { bulk_grant_id: "by-mei", source, subject: "Mei@ops.example" };
    const run = await start(bulkGrantWorkflowId(stack.programId, "by-mei"), input);
    const waiting = await comesTo(stack, "by-mei", "AWAITING_APPROVAL");
    const starter = { service: "temporal", subject: "mei" };
    expect(waiting.actions).toMatchObject([{ action: "SUBMIT", starter }]);
    expect(await showsDetails(run, "Waits for 1 approval")).toContain(
      "- started by: mei via temporal\n",
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
    const { id, rowsOf, setRows } = addSpreadsheet("11/2026 'by name'", rows);
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
    const wrongTitle = { bulk_grant_id: "bad", source: "nightly/bad.csv", title: "a\nb" };
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

describe("pickUpSheets", () => {
  const pickUp = (workflowId: string, source_name = "nightly") =>
    stack.client.workflow.start("pickUpSheets", {
      workflowId,
      taskQueue: stack.config.taskQueue,
      args: [{ source_name, program_id: stack.programId }],
    });

  test("leads to the rows of a run that were not granted", async () => {
    for (const file of await folder.sheetsIn(".")) await folder.remove(file);
    await folder.put("frozen.csv", ["frozen-1,10", "frozen-2,10"]);
    await (await pickUp("frozen")).result();
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
    await enforceRules(stack.deps, stack.programId, {
      ...{ maxPointsPerRow: 1_000, maxTotalPoints: 10_000, requiredApprovalCount: 0 },
      sources: ["campaigns", "nightly"],
    });
    for (const name of ["a", "b", "c"]) await folder.put(`${name}.csv`, [`picked-${name},10`]);
    await folder.put("invalid.csv", ["picked-twice,1", "picked-twice,1"]);
    await folder.put("unreadable.csv", ["picked,1"], "user,points");
    const runs = await Promise.all([pickUp("pick-up-1"), pickUp("pick-up-2")]);
    const results = (await Promise.all(runs.map((run) => run.result()))) as PickUpResult[];
    expect(await folder.sheetsIn("done")).toEqual(["a.csv", "b.csv", "c.csv"]);
    expect(await folder.sheetsIn("failed")).toEqual([
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
    const last = await pickUp("pick-up-3");
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
    const message = slack.messages.at(-1);
    expect(message).toMatch(/`nightly\/fix.csv`: WRONG_STATE \(fix has granted .* name\)/);
    expect(message).toContain(
      " · Errors: nightly/failed/fix.errors.csv · Moved to: nightly/failed/fix",
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

  test("leads to the errors of a file, which are corrected and dropped again", async () => {
    await folder.put("wrong.csv", ["wrong-1,10", "wrong-2,x", "wrong-3,0"]);
    await folder.put("broken.csv", ["broken-1,10,1", "broken-2,x,1"], "user_id,points,colour");
    const { failed } = (await (await pickUp("errors-1")).result()) as PickUpResult;
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
    expect(codes(wrong)).toEqual(["NOT_RUN", "POINTS_MALFORMED", "POINTS_MALFORMED"]);

    const [header = "", ...lines] = wrong.trim().split("\r\n");
    const corrected = lines.map((line) => line.replace(/"(x|0)"/, '"10"'));
    await folder.put("wrong.errors.csv", corrected, header);
    await (await pickUp("errors-2")).result();
    expect((await comesTo(stack, "wrong", "DONE")).revision.number).toBe(2);
    expect(await folder.sheetsIn("done")).toContain("wrong.errors.csv");
  });

  test("takes the spreadsheets of a Drive folder, and their corrections", async () => {
    const idsIn = (name: string) =>
      google.drive.foldersNamed(name, driveFolder).flatMap((id) => google.drive.namesIn(id));
    const spring = addSpreadsheet("4/春 2026", [...columns, ["spring-1", 10], ["spring-1", 20]]);
    const summer = addSpreadsheet("summer", [...columns, ["summer-1", 10]]);
    const chart = addSpreadsheet("chart", []);
    chart.addChart("Chart1");
    const file = { name: "file.csv", folderId: driveFolder, content: "user,points\nfile-1,10\n" };
    const fileId = google.drive.add(file);
    const secret = addSpreadsheet("secret", []);
    secret.share(false);
    google.drive.modify(addSpreadsheet("typing", columns).id);
    const first = (await (
      await pickUp("drive-1", "campaigns")
    )
      .result()
      .catch((error: WorkflowFailedError) => error.cause)) as ApplicationFailure;
    expect(first.type).toBe("PICK_UP_INCOMPLETE");
    const lines = first.message.split("\n").filter(Boolean);
    const tab = { spring: urlOf(spring.id, "#gid=1"), chart: urlOf(chart.id, "#gid=2") };
    expect(lines.map((line) => line.replace(/#[0-9a-f]{12}/, ""))).toEqual([
      "1 file submitted, 3 failed, 1 left.",
      ...Array(3).fill(expect.stringMatching(/^- campaigns\/(4\/春 2026|chart|file\.csv)/)),
      `- campaigns/secret: PERMISSION_DENIED (${urlOf(secret.id)} cannot be read: ` +
        "Google: The caller does not have permission)",
    ]);
    expect(first.message).toContain(`; errors in ${tab.spring}; moved to ${urlOf(spring.id)}`);
    expect(first.message).toContain(`; errors in ${tab.chart}; moved to ${urlOf(chart.id)}`);
    expect(idsIn("done")).toEqual(["summer"]);
    const failed = idsIn("failed");
    expect(failed.toSorted()).toEqual(["4/春 2026", "chart", "file.csv", "file.errors.csv"]);
    const errorsId = google.drive.idOf(
      "file.errors.csv",
      google.drive.foldersNamed("failed", driveFolder)[0] ?? "",
    );
    expect(first.message).toContain(`; errors in ${linkOf(errorsId)}; moved to ${linkOf(fileId)}`);
    expect(google.drive.contentOf(errorsId)).toContain('"COLUMN_UNKNOWN"');
    expect(await comesTo(stack, "summer", "DONE")).toMatchObject({
      revision: { submitter: asService("campaigns"), sourceUrl: urlOf(summer.id) },
    });

    const [, failedTab = ""] = spring.titles;
    expect(failedTab).toMatch(/^failed 4-2026-[0-9a-f]{12} r1$/);
    const id = failedTab.split(" ")[1] ?? "";
    spring.setRows("Sheet1", [...columns, ["spring-1", 10]]);
    google.drive.moveTo(spring.id, driveFolder);
    google.drive.modify(spring.id, Date.now() - 3_600_000);
    google.drive.trash(secret.id);
    await (await pickUp("drive-2", "campaigns")).result();
    expect((await comesTo(stack, id, "DONE")).revision).toMatchObject({
      number: 2,
      title: "4/春 2026",
    });
    expect(await balances(stack, ["spring-1", "summer-1"])).toEqual({ 10: 2 });
    expect(google.drive.namesIn(driveFolder)).toEqual(["typing", "failed", "done"]);
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
