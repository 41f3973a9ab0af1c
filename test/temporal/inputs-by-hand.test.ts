/** Tests runs that were started by hand without their input: they end, or need none. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { bulkGrantOfRows, bulkGrantOfSource } from "../../src/bulk-grants/contract/payloads.ts";
import { holdInput } from "../../src/holds/contract/payloads.ts";
import { workflowTypes } from "../../src/platform/contract/workflow-types.ts";
import { reservationInput } from "../../src/reservations/contract/payloads.ts";
import { showsDetails } from "../support/fixtures/operators.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

/** The reconciler and the starts of all runs need no input. */
const needInput = Object.values(workflowTypes).filter(
  (type) => type !== workflowTypes.reconciler && type !== workflowTypes.startRuns,
);

test.each(needInput.flatMap((type) => [[], [null], ["shop"]].map((args) => [type, args] as const)))(
  "a run of %s that was started with %j fails",
  async (type, args) => {
    const { client, config } = stack;
    const workflowId = `${type}-${JSON.stringify(args)}`;
    const started = { workflowId, taskQueue: config.taskQueue, args };
    const handle = await client.workflow.start(type, started);
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: "INVALID_REQUEST" } });
  },
);

const named = { program_id: "default", user_id: "aoi", points: 1 };
const job = { program_id: "default", job_id: "j" };
const held = { ...named, hold_id: "h", until: "2099-01-01T00:00:00Z" };
const reserved = { ...named, reservation_id: "r", execute_time_at_start: "2099-01-01T00:00:00Z" };

const submitted = { program_id: "default", bulk_grant_id: "b", source: "drive/b.csv" };
const row = { user_id: "u", points: 1 };
const ofRows = { program_id: "default", bulk_grant_id: "b", rows: [row] };
const noDay = "2099-02-30T00:00:00Z";

/** Inputs that were copied from a run and edited ("Start Workflow Like This One"). */
const edited: readonly (readonly [string, object, string])[] = [
  ["hold", { ...held, reason: 5 }, "reason: must be a string"],
  ["hold", { ...held, cause: null }, "cause: must be a string"],
  ["hold", { ...held, points: "1" }, "points: must be a number"],
  ["hold", { ...held, points: undefined }, "points: must be a number"],
  ["reservation", { ...reserved, reason: 5 }, "reason: must be a string"],
  ["reservation", { ...reserved, points: undefined }, "points: must be a number"],
  ["reservation", { ...reserved, user_id: "a#b" }, "user_id: must be 1 to 128 visible"],
  ["reservation", { ...reserved, execute_time_at_start: noDay }, "execute_time: must be RFC 3339"],
  ["hold", { ...held, program_id: "Shop" }, "program_id: must be 1 to 32 lower-case"],
  ["exportLedger", { ...job, so_far: { files: 5 } }, "so_far: only a run that"],
  ["liabilityReport", { ...job, so_far: { sum: {} } }, "so_far: only a run that"],
  ["bulkGrantRows", { ...ofRows, title: "x", reason: "x" }, 'Unrecognized key: "reason"'],
  ["bulkGrantRows", { ...ofRows, rows: [row, { ...row, point: 1 }] }, "rows.1: Unrecognized key"],
  ["bulkGrantRows", { ...ofRows, rows: [{ user_id: "u" }] }, "rows.0.points: must be a number"],
  ["bulkGrantRows", { ...ofRows, rows: ["u,1"] }, "rows.0: must be an object"],
  ["bulkGrantRows", { ...ofRows, rows: Array(10_001).fill("u,1") }, "rows: must be at most 10000"],
  ["bulkGrantRows", { ...ofRows, bulk_grant_id: "a#b" }, "bulk_grant_id: must be 1 to 128 bytes"],
  ["bulkGrantRows", { ...ofRows, execute_time: noDay }, "execute_time: must be"],
  ["monthEnd", { program_id: "default", so_far: { left: 1 } }, "so_far: only a run that"],
];

const complete = [
  [workflowTypes.hold, held, holdInput],
  [workflowTypes.reservation, reserved, reservationInput],
  [workflowTypes.bulkGrantFromSource, submitted, bulkGrantOfSource],
  [workflowTypes.bulkGrantRows, ofRows, bulkGrantOfRows],
] as const;

/** Every field of an input. */
const wrongFields = complete.flatMap(
  ([
    type,
    input,
    {
      in: { shape },
    },
  ]) => Object.keys(shape).map((field) => [type, field, { ...input, [field]: {} }] as const),
);

test.each(wrongFields)("a run of %s with an object as its %s fails", async (type, field, input) => {
  const { client, config } = stack;
  const started = { workflowId: `${type}-${field}`, taskQueue: config.taskQueue, args: [input] };
  const handle = await client.workflow.start(type, started);
  const cause = { type: "INVALID_REQUEST", message: expect.stringContaining(`${field}: must be`) };
  await expect(handle.result()).rejects.toMatchObject({ cause });
});

test.each(edited)("a run of %s with the edited input %j fails", async (type, input, message) => {
  const { client, config } = stack;
  const workflowId = `edited-${edited.findIndex(([, each]) => each === input)}`;
  const started = { workflowId, taskQueue: config.taskQueue, args: [input] };
  const handle = await client.workflow.start(type, started);
  const cause = { type: "INVALID_REQUEST", message: expect.stringContaining(message) };
  await expect(handle.result()).rejects.toMatchObject({ cause });
});

test("a run of the reconciler that was started without an input goes on", async () => {
  const { client, config } = stack;
  const started = { workflowId: "reconciler-by-hand", taskQueue: config.taskQueue };
  const handle = await client.workflow.start(workflowTypes.reconciler, started);
  await showsDetails(handle, "Runs");
  await handle.terminate();
});
