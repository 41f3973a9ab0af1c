/** Tests what operators change in Temporal: Updates, Terminate, and runs started by hand. */
import { WorkflowUpdateFailedError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pointsKey } from "../../src/platform/temporal/search-attributes.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { cancelReservation } from "../../src/reservations/use-cases/commands.ts";
import { listReservations } from "../../src/reservations/use-cases/queries.ts";
import { syncRuns } from "../../src/reservations/use-cases/sync-runs.ts";
import {
  expectNothingGranted,
  isListed,
  listed,
  recordOf,
  statusOf,
  waitsInBackoff,
} from "../support/fixtures/operators.ts";
import {
  change,
  endsAsCanceled,
  eventsOf,
  expectGrantedOnce,
  handleOf,
  reserve,
  reserveAndBegin,
  reserveAndStart,
  verified,
} from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack, withoutTemporal } from "../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

/** Sends an Update that has to be refused, and returns the failure. */
async function refusalOf(id: string, update: string, arg?: unknown): Promise<unknown> {
  const error = await handleOf(stack, id)
    .executeUpdate(update, { args: [arg] as [unknown] })
    .catch((error: unknown) => error);
  expect(error).toBeInstanceOf(WorkflowUpdateFailedError);
  return (error as WorkflowUpdateFailedError).cause;
}

const invalid = { type: "INVALID_REQUEST", nonRetryable: true };

describe("an Update", () => {
  test("reschedules and returns the new state", async () => {
    const handle = await reserveAndStart(stack, { id: "updated", inMs: hour });
    const move = (execute_time: string) =>
      handle.executeUpdate("reschedule", {
        args: [{ execute_time, subject: "aki", reason: "earlier" }],
      });
    const later = new Date(Date.now() + 2 * hour).toISOString();
    expect(await move(later)).toEqual({ state: "PENDING", execute_time: later, points: 10 });
    const now = new Date().toISOString();
    expect(await move(now)).toEqual({ state: "PROCESSING", execute_time: now, points: 10 });
    const reservation = await expectGrantedOnce(stack, "updated");
    expect(reservation).toMatchObject({
      lastChange: { caller: { service: "temporal", subject: "aki" }, reason: "earlier" },
    });
    expect(await handle.result()).toMatchObject({ step: "DONE", points: 10 });
  });

  test("lowers or raises the points, which the run shows and grants", async () => {
    const handle = await reserveAndStart(stack, { id: "raised", inMs: hour });
    const setTo = (points: unknown) =>
      handle.executeUpdate("change_points", {
        args: [{ points, subject: "aki", reason: "more" } as object],
      });
    expect(await setTo(25)).toMatchObject({ state: "PENDING", points: 25 });
    await eventually(async () => {
      const { typedSearchAttributes } = await handle.describe();
      expect(typedSearchAttributes.get(pointsKey)).toBe(25);
      expect(await handle.query("details")).toMatch(/^25 points for raised\. .* by aki .*more/);
    });
    for (const points of [0, -1, 1.5, 1_000_000_001, "9", null, undefined]) {
      expect(await refusalOf("raised", "change_points", { points })).toMatchObject(invalid);
    }
    const execute_time = new Date().toISOString();
    await handle.executeUpdate("reschedule", { args: [{ execute_time }] });
    expect(await handle.result()).toMatchObject({ step: "DONE", points: 25 });
    expect(await recordOf(stack, "raised")).toMatchObject({ state: "DONE", points: 25 });
    expect(await verified(stack, "raised")).toEqual({ balance: 25, entries: 1 });
  });

  test.each<[string, unknown[]]>([
    ["no argument", []],
    ["null", [null]],
    ["an empty object", [{}]],
  ])("with %s cancels and returns the new state", async (name, args) => {
    const id = `stopped-by-${name.replaceAll(" ", "-")}`;
    const handle = await reserveAndStart(stack, { id, inMs: hour });
    expect(await handle.executeUpdate("cancel", { args: args as [] })).toMatchObject({
      state: "CANCELLED",
    });
    await endsAsCanceled(stack, id);
    const { lastChange } = await recordOf(stack, id);
    expect(lastChange).toMatchObject({ caller: asService("temporal"), reason: "" });
    expect(await verified(stack, id)).toEqual({ balance: 0, entries: 0 });
  });

  test("is answered when the cancellation of the run is requested meanwhile", async () => {
    const id = "both";
    const handle = await reserveAndBegin(stack, { id, inMs: hour });
    await waitsInBackoff(handle);
    stack.storeDown(true);
    const answer = handle.executeUpdate("cancel");
    await eventually(async () => {
      const { pendingActivities } = (await handle.describe()).raw;
      const names = pendingActivities?.map(({ activityType }) => activityType?.name);
      expect(names).toContain("cancelReservation");
    });
    await handle.cancel();
    stack.storeDown(false);
    expect(await answer).toMatchObject({ state: "CANCELLED" });
    await endsAsCanceled(stack, id);
  });

  test("is refused when the record does not allow it", async () => {
    const { deps, programId } = stack;
    const id = "cancelled";
    await reserveAndStart(stack, { id, inMs: hour });
    const wrongState = { type: "WRONG_STATE", nonRetryable: true };
    // The run does not know yet that its record is cancelled.
    await cancelReservation(withoutTemporal(deps), { ...change, programId, reservationId: id });
    const execute_time = new Date().toISOString();
    expect(await refusalOf(id, "reschedule", { execute_time })).toMatchObject(wrongState);
    expect(await refusalOf(id, "retry")).toMatchObject(wrongState);
    await handleOf(stack, id).cancel();
    await endsAsCanceled(stack, id);
  });

  test("reschedules to a time long ago when it says so", async () => {
    const handle = await reserveAndStart(stack, { id: "long-ago", inMs: hour });
    const past = { execute_time: "2020-01-01T00:00:00.000Z", allow_past_execute_time: true };
    const moved = await handle.executeUpdate("reschedule", { args: [past] });
    expect(moved).toMatchObject({ state: "PROCESSING", execute_time: past.execute_time });
    await expectGrantedOnce(stack, "long-ago");
  });

  test("with a bad argument changes nothing", async () => {
    const { deps, programId } = stack;
    const id = "bad";
    await reserveAndStart(stack, { id, inMs: hour });
    const before = await recordOf(stack, id);
    const times = [
      ...["1926-12-01T00:00:00+09:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
      ...["275760-09-13T00:00:00Z", "+275760-09-13T00:00:00Z", "-000001-01-01T00:00:00Z"],
      ...["NaN", "", "tomorrow", "2030-01-01", "2030-01-01T00:00:00", "2030-13-01T00:00:00Z"],
      ...["2027-02-30T00:00:00Z", "2027-01-01T25:00:00Z", "2027-01-01T00:00:00+99:99"],
    ];
    for (const execute_time of times) {
      const refused = await refusalOf(id, "reschedule", { execute_time });
      expect(refused, execute_time).toMatchObject(invalid);
    }
    expect(await refusalOf(id, "reschedule", { execute_time: times[2] })).toMatchObject({
      message: expect.stringContaining("five years"),
    });
    const past = { execute_time: "1970-01-21T17:00:28.800Z" };
    expect(await refusalOf(id, "reschedule", past)).toMatchObject({
      ...invalid,
      message: expect.stringContaining("seconds taken for milliseconds"),
    });
    const execute_time = new Date(Date.now() + 2 * hour).toISOString();
    const bad = [
      ...[undefined, null, execute_time, {}, { execute_time: Date.now() }, { execute_time: null }],
      ...[
        { execute_time, reason: 7 },
        { execute_time, allow_past_execute_time: "yes" },
        { execute_time, subject: "x".repeat(65) },
      ],
    ];
    for (const arg of bad) {
      expect(await refusalOf(id, "reschedule", arg), JSON.stringify(arg)).toMatchObject(invalid);
    }
    for (const arg of [
      "because",
      { reason: "x".repeat(129) },
      { reason: "a\nb" },
      { subject: 1 },
    ]) {
      expect(await refusalOf(id, "cancel", arg), JSON.stringify(arg)).toMatchObject(invalid);
    }
    expect(await recordOf(stack, id)).toEqual(before);
    const filter = { state: "PENDING" } as const;
    const window = { start: undefined, end: undefined };
    const page = { size: 100, cursor: undefined };
    const { items } = await listReservations(deps, programId, filter, window, page);
    expect(items.map(({ reservation }) => reservation.reservationId)).toContain(id);

    const soon = new Date().toISOString();
    await handleOf(stack, id).executeUpdate("reschedule", { args: [{ execute_time: soon }] });
    await expectGrantedOnce(stack, id);
    await handleOf(stack, id).result();
    expect(await eventsOf(handleOf(stack, id))).not.toContain("workflowTaskFailed");
  });
});

test("Terminate cancels no reservation: a check of the runs starts it again", async () => {
  const id = "terminated";
  const handle = await reserveAndStart(stack, { id, inMs: hour });
  const terminated = (await handle.describe()).runId;
  await handle.terminate("a mistake");
  await isListed(stack, id, 'ExecutionStatus = "Terminated"');
  expect((await recordOf(stack, id)).state).toBe("PENDING");
  const counts = await syncRuns(stack.deps, Date.now() - hour, (_, error) => {
    throw error;
  });
  expect(counts).toMatchObject({ restarted: 1, terminated: 0, failed: 0 });
  await eventually(async () => {
    const { runId, status } = await handle.describe();
    expect([runId === terminated, status.name]).toEqual([false, "RUNNING"]);
  });
  const execute_time = new Date().toISOString();
  await handle.executeUpdate("reschedule", { args: [{ execute_time }] });
  expect(await handle.result()).toMatchObject({ step: "DONE" });
  await expectGrantedOnce(stack, id);
});

describe("a run that was started by hand", () => {
  const input = (id: string) => ({
    program_id: stack.programId,
    reservation_id: id,
    user_id: id,
    points: 10,
    execute_time_at_start: "2026-01-01T00:00:00+09:00",
  });

  beforeAll(async () => {
    const { deps, programId } = stack;
    await reserve(withoutTemporal(deps), programId, { id: "by-hand", inMs: -hour });
  });

  const good = () => input("by-hand");
  const notFound = { type: "RESERVATION_NOT_FOUND", nonRetryable: true };
  test.each<[string, () => unknown[], object]>([
    ["with a list", () => [[good()]], invalid],
    ["without a user", () => [{ ...good(), user_id: undefined }], invalid],
    ["with a number as the user", () => [{ ...good(), user_id: 7 }], invalid],
    ["with an empty program", () => [{ ...good(), program_id: "" }], invalid],
    ["with no time", () => [{ ...good(), execute_time_at_start: "soon" }], invalid],
    ["with a time out of range", () => [{ ...good(), execute_time_at_start: 1e300 }], invalid],
    ["for another user", () => [{ ...good(), user_id: "somebody" }], invalid],
    ["with the old input, but no ids", () => [{ executeTime: 0 }], invalid],
    ["for an unknown reservation", () => [input("unknown")], notFound],
    ["for an unknown program", () => [{ ...good(), program_id: "unknown" }], notFound],
  ])("%s fails with the reason", async (name, args, reason) => {
    const { client, config } = stack;
    const handle = await client.workflow.start("reservation", {
      workflowId: name,
      taskQueue: config.taskQueue,
      args: args(),
    });
    await expect(handle.result()).rejects.toMatchObject({ cause: reason });
    expect(await statusOf(handle)).toBe("FAILED");
    expect(await eventsOf(handle)).not.toContain("workflowTaskFailed");
    await expectNothingGranted(stack, "by-hand");
    expect((await recordOf(stack, "by-hand")).state).toBe("PENDING");
  });

  test("with good input is listed like any other", async () => {
    const { client, config, deps, programId } = stack;
    const id = "by-hand-later";
    await reserve(withoutTemporal(deps), programId, { id, inMs: hour });
    const handle = await client.workflow.start("reservation", {
      workflowId: id,
      taskQueue: config.taskQueue,
      args: [input(id)],
    });
    const { executeTime } = await recordOf(stack, id);
    // The dev server compares times as texts without trailing zeros, so no time equals "….120Z".
    const [from, to] = [executeTime - 1_000, executeTime + 1_000].map((time) =>
      new Date(time).toISOString(),
    );
    const query =
      `WorkflowId = "${id}" AND MeguriState = "PENDING" ` +
      `AND MeguriExecuteTime > "${from}" AND MeguriExecuteTime < "${to}"`;
    await eventually(async () => expect(await listed(stack, query)).toEqual([id]));
    await handle.terminate();
  });

  test("with good input grants the points once", async () => {
    const { client, config, deps, programId } = stack;
    await reserve(withoutTemporal(deps), programId, { id: "by-hand-good", inMs: -hour });
    const runs = await Promise.all(
      ["one", "two"].map((workflowId) =>
        client.workflow.execute("reservation", {
          workflowId,
          taskQueue: config.taskQueue,
          args: [input("by-hand-good")],
        }),
      ),
    );
    for (const result of runs) expect(result).toMatchObject({ step: "DONE", available_points: 10 });
    await expectGrantedOnce(stack, "by-hand-good");
  });
});
