/** Tests which files a pick-up takes and how it ends, with activities on a list of files. */
import { activityInfo } from "@temporalio/activity";
import type { WorkflowFailedError } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Activities } from "../../../activities/index.ts";
import type { BulkGrantView } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import type {
  BulkGrantInput,
  MoveFileInput,
  WriteRefusalInput,
} from "../../../src/bulk-grants/contract/payloads.ts";
import type { NewFiles } from "../../../src/bulk-grants/contract/sheet-sources.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { sealAnswers } from "../../../src/worker/seal-answers.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  startWorkerStack,
  type WorkerStack,
  workflowBundle,
} from "../../support/servers/worker.ts";

type InputOf<Name extends keyof Activities> = Parameters<Activities[Name]>[0];

const pageSize = 6;
const taskQueue = "pick-ups";

/** A source with its files, and what became of them. */
interface Source {
  /** The files that have not been moved. */
  readonly left: string[];
  /** Files that stay where they are. */
  readonly unmovable: readonly string[];
  readonly submitted: string[];
  readonly told: InputOf<"reportPickUp">[];
  /** The runs that have listed its files. */
  readonly started: Set<string>;
}

/** The sources by the workflow ids of their pick-ups, to which a schedule adds a time. */
const sources = new Map<string, Source>();

/** The source of the pick-up that runs an activity. */
function ownSource(): Source {
  const { workflowId = "" } = activityInfo().workflowExecution ?? {};
  const [id = ""] = /^pick-up-\d+/.exec(workflowId) ?? [];
  return sources.get(id) as Source;
}

/** A view of the first revision. */
const viewOf = ({ program_id, bulk_grant_id }: BulkGrantInput): BulkGrantView => ({
  ...{ program_id, bulk_grant_id, step: "VALIDATE", state: "VALIDATING", revision: 1, run: 0 },
  ...{
    digest: "d",
    block_count: 1,
    row_count: 1,
    total_points: 1,
    details: "",
    facts: [],
    rows: [],
  },
  ...{ submitter: asService("nightly"), actors: [] },
  counts: {
    ...{ granted_count: 0, granted_points: 0, already_granted_count: 0 },
    ...{ failed_count: 0, invalid_count: 0, not_run_count: 0, problem_counts: {} },
  },
});

/** The activities. Files that begin with `slow` are validated when `swift.csv` is submitted. */
const activities = {
  async listNewFiles({ cursor = "0" }: InputOf<"listNewFiles">): Promise<NewFiles> {
    const { left, started } = ownSource();
    started.add(activityInfo().workflowExecution?.runId ?? "");
    const end = Number(cursor) + pageSize;
    const page = left.slice(Number(cursor), end);
    const next = end < left.length ? { cursor: String(end) } : {};
    const fileOf = (source: string) => ({ source, bulk_grant_id: source, title: source });
    return { files: page.map(fileOf), ...next };
  },
  async pickUpSheet(input: InputOf<"pickUpSheet">) {
    const { program_id, bulk_grant_id } = input;
    if (bulk_grant_id.startsWith("gone")) return {};
    if (bulk_grant_id.startsWith("broken")) throw ApplicationFailure.retryable("no answer");
    if (bulk_grant_id.startsWith("refused")) {
      throw ApplicationFailure.nonRetryable("an unknown column", "INVALID_REQUEST");
    }
    ownSource().submitted.push(bulk_grant_id);
    return { sheet: { program_id, bulk_grant_id, revision: 1 } };
  },
  async advanceBulkGrant(input: BulkGrantInput) {
    const isSlow = input.bulk_grant_id.startsWith("slow");
    const isOver = !isSlow || ownSource().submitted.includes("swift.csv");
    const state = isOver ? "AWAITING_APPROVAL" : "VALIDATING";
    return { ...viewOf(input), state };
  },
  async writeRefusal({ source }: WriteRefusalInput) {
    if (source.includes("full")) throw ApplicationFailure.nonRetryable("no storage");
    return { address: `errors of ${source}` };
  },
  async moveFile({ source }: MoveFileInput) {
    const { left, unmovable } = ownSource();
    if (unmovable.includes(source)) throw ApplicationFailure.nonRetryable("read-only");
    left.splice(left.indexOf(source), 1);
    return {};
  },
  async reportPickUp(input: InputOf<"reportPickUp">) {
    const { left, told } = ownSource();
    told.push(input);
    if (left.includes("silent.csv")) throw ApplicationFailure.retryable("no answer");
  },
};

let stack: WorkerStack;
let connection: NativeConnection;
let worker: Worker;
let running: Promise<void>;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  const { temporalAddress: address, temporalNamespace: namespace } = stack.config;
  connection = await NativeConnection.connect({ address });
  worker = await Worker.create({
    ...{ connection, namespace, taskQueue, activities },
    workflowBundle: workflowBundle(),
    interceptors: { activity: [sealAnswers] },
  });
  running = worker.run();
});
afterAll(async () => {
  worker.shutdown();
  await running;
  await connection.close();
  await stack.stop();
});

/**
 * Picks up a source of these files, by pages of six. Files in `unmovable` stay where they are.
 * Returns how the run has ended, its files that were submitted, those that are left, and what
 * people were told. With `runs`, a schedule does so more than once; then `end` is undefined.
 */
async function pickUp(files: readonly string[], unmovable: readonly string[], runs?: number) {
  const workflowId = `pick-up-${sources.size}`;
  const source: Source = {
    ...{ left: [...files], unmovable, submitted: [], told: [] },
    started: new Set(),
  };
  sources.set(workflowId, source);
  const workflow = {
    ...{ workflowId, taskQueue },
    args: [{ source_name: "nightly", program_id: "p" }] as [object],
  };
  const end =
    runs === undefined
      ? await stack.client.workflow
          .execute("pickUpSheets", workflow)
          .catch((error: WorkflowFailedError) => error.cause)
      : await bySchedule(workflow, source.started, runs);
  return { ...source, end, submitted: source.submitted.toSorted() };
}

/** Lets a schedule start the workflow, one run at a time, until so many runs have ended. */
async function bySchedule(
  workflow: { readonly workflowId: string; readonly taskQueue: string; readonly args: [object] },
  started: ReadonlySet<string>,
  runs: number,
): Promise<void> {
  const schedule = await stack.client.schedule.create({
    scheduleId: workflow.workflowId,
    spec: {},
    action: { type: "startWorkflow", workflowType: "pickUpSheets", ...workflow },
  });
  await eventually(async () => {
    await schedule.trigger("SKIP");
    expect(started.size).toBeGreaterThan(runs);
  });
  await schedule.delete();
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `${10 + i}.csv`);

test.concurrent("files that cannot be moved hide no other file, and the run fails", async () => {
  const files = names(8);
  const stuck = [...files.slice(0, 4), "refused.csv"];
  const { end, submitted, left, told } = await pickUp([...files, "refused.csv"], stuck);
  expect(submitted).toEqual(files);
  expect(left).toEqual(stuck);
  expect(end).toMatchObject({ type: "PICK_UP_INCOMPLETE" });
  const [counts, ...lines] = (end as ApplicationFailure).message.split("\n");
  expect(counts).toBe("8 files submitted, 1 failed, 5 left.");
  expect(lines.filter(Boolean).toSorted()).toEqual([
    ...files.slice(0, 4).map((file) => `- ${file}: NOT_MOVED (read-only)`),
    "- refused.csv: INVALID_REQUEST (an unknown column); errors in errors of refused.csv",
    "- refused.csv: NOT_MOVED (read-only)",
  ]);
  expect(told).toHaveLength(1);
  const [{ files: reported = [], ...rest } = {}] = told;
  expect(rest).toEqual({ program_id: "p", more_count: 0 });
  const reasons = reported.map(({ source, reason }) => `${source}: ${reason}`);
  expect(reasons.toSorted()).toEqual([
    ...files.slice(0, 4).map((file) => `${file}: NOT_MOVED`),
    "refused.csv: INVALID_REQUEST",
  ]);
});

test.concurrent("people are told once of a file that stays, and of each that comes", async () => {
  const { told, left } = await pickUp(
    ["refused-stuck.csv", "refused.csv"],
    ["refused-stuck.csv"],
    3,
  );
  expect(left).toEqual(["refused-stuck.csv"]);
  expect(told.map(({ files }) => files.map(({ source }) => source).toSorted())).toEqual([
    ["refused-stuck.csv", "refused.csv"],
  ]);
});

test.concurrent("a message that is not sent fails no pick-up, and is due again", async () => {
  const stuck = ["silent.csv", "refused.csv"];
  const { told } = await pickUp(stuck, stuck, 2);
  expect(told.length).toBeGreaterThan(1);
});

test.concurrent("a message names the first of many files, and counts the others", async () => {
  const files = Array.from({ length: 23 }, (_, i) => `refused-${i}.csv`);
  const { told } = await pickUp(files, []);
  expect(told.map(({ files, more_count }) => [files.length, more_count])).toEqual([[20, 3]]);
});

test.concurrent("files that are being validated hold up no other file", async () => {
  const files = [...Array.from({ length: 5 }, (_, i) => `slow-${i}.csv`), "swift.csv"];
  const { end, left } = await pickUp(files, []);
  expect(left).toEqual([]);
  expect(end).toMatchObject({ failed: [], left: [] });
});

test.concurrent("moves that shift the pages hide no file", async () => {
  const files = names(10);
  const { end, submitted, left, told } = await pickUp(files, []);
  expect(submitted).toEqual(files);
  expect(left).toEqual([]);
  expect(end).toMatchObject({ failed: [], left: [] });
  expect(told).toEqual([]);
});

test.concurrent("a file whose errors cannot be written is moved all the same", async () => {
  const { end, left } = await pickUp(["refused-full.csv"], []);
  expect(left).toEqual([]);
  expect(end).toMatchObject({
    failed: [
      { source: "refused-full.csv", reason: "INVALID_REQUEST", message: "an unknown column" },
    ],
    left: [],
  });
});

test.concurrent("a file that is gone is taken once, although it is still listed", async () => {
  const { end, submitted, left } = await pickUp(["10.csv", "gone.csv"], []);
  expect(submitted).toEqual(["10.csv"]);
  expect(left).toEqual(["gone.csv"]);
  expect(end).toMatchObject({ submitted: ["10.csv"], failed: [], left: [] });
});
