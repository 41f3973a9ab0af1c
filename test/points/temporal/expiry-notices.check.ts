/** Tests the notices of points that expire soon: when their schedule runs, and what a run does. */

import type { ScheduleHandle, WorkflowFailedError, WorkflowHandle } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { notifyMember } from "../../../src/feed/use-cases/notifications/notify.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { setTime } from "../../../src/platform/work/test-clock.ts";
import { type ExpiryNoticesResult, expiryNoticesId } from "../../../src/points/contract/notices.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { createProgram, updateProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { ensureSchedules } from "../../../src/temporal/schedules.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { metadataOf } from "../../support/fixtures/operators.ts";
import { eventually, patiently } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

vi.mock(import("../../../src/feed/use-cases/notifications/notify.ts"), () => ({
  notifyMember: vi.fn(),
}));
const notify = vi.mocked(notifyMember);
beforeEach(() => void notify.mockReset());

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ testClock: true });
});
afterAll(() => stack.stop());

/** A program of three months that notifies so many days before points expire. */
async function newProgram(
  programId: string,
  expiryDays: number,
  timeZone = "Asia/Tokyo",
): Promise<Program> {
  const deps = { ...stack.deps, background: () => {} };
  await createProgram(deps, { programId, timeZone, lifetimeMonths: 3 });
  await enforceRules(deps, programId, { requiredApprovalCount: 0 });
  return setDays(programId, expiryDays);
}

async function setDays(programId: string, expiryDays: number): Promise<Program> {
  const { program } = await updateProgram(
    { ...stack.deps, background: () => {} },
    {
      ...{ programId, rules: { notices: { expiryDays, reservedGrants: false } } },
      ...{ caller: asService("tests"), deadline: undefined },
    },
  );
  return program;
}

const scheduleOf = (programId: string): ScheduleHandle =>
  stack.client.schedule.getHandle(expiryNoticesId(programId));

const ensure = (program: Program) => patiently(() => stack.workflows.ensureExpiryNotices(program));

describe("the schedule", () => {
  /** The times of the runs in a year, as Temporal computes them. */
  async function runsIn(programId: string, year: number): Promise<string[]> {
    const { connection, namespace } = stack.workflows.link;
    const seconds = (time: number) => (time / 1_000) as unknown as null;
    const { startTime } = await connection.workflowService.listScheduleMatchingTimes({
      namespace,
      scheduleId: expiryNoticesId(programId),
      startTime: { seconds: seconds(Date.UTC(year, 0, 2)) },
      endTime: { seconds: seconds(Date.UTC(year + 1, 0, 1)) },
    });
    return startTime.map((time) => new Date(Number(time.seconds) * 1_000).toISOString());
  }

  test("runs at 10:00 in the program's zone, so many days before each month ends", async () => {
    await ensure(await newProgram("week", 7));
    expect(await runsIn("week", 2027)).toEqual(
      ["25", "22", "25", "24", "25", "24", "25", "25", "24", "25", "24", "25"].map(
        (day, i) => `2027-${String(i + 1).padStart(2, "0")}-${day}T01:00:00.000Z`,
      ),
    );
    // A day earlier before the end of a leap February.
    expect((await runsIn("week", 2028))[1]).toBe("2028-02-22T01:00:00.000Z");

    await ensure(await newProgram("most", 27, "America/New_York"));
    const days = (await runsIn("most", 2027)).map((time) => time.slice("2027-".length, -5));
    expect(days.slice(0, 4)).toEqual([
      "01-05T15:00:00",
      "02-02T15:00:00",
      "03-05T15:00:00",
      "04-04T14:00:00",
    ]);
  });

  test("is left alone when it is right, and follows the days", async () => {
    const program = await newProgram("follows", 7);
    await ensure(program);
    await ensure(program);
    const description = await scheduleOf("follows").describe();
    expect(description.info.lastUpdatedAt).toBeUndefined();
    expect(description.spec.timezone).toBe("Asia/Tokyo");
    expect(description.policies).toMatchObject({ catchupWindow: 7 * 86_400_000 });

    await ensure(await setDays("follows", 1));
    expect((await runsIn("follows", 2027))[3]).toBe("2027-04-30T01:00:00.000Z");
  });

  test("is made by an update of the notices, and not for a program without them", async () => {
    await newProgram("updated", 0);
    await ensure(await setDays("updated", 0));
    await expect(scheduleOf("updated").describe()).rejects.toThrow("not found");
    await updateProgram(stack.deps, {
      programId: "updated",
      rules: { notices: { expiryDays: 3, reservedGrants: true } },
      ...{ caller: asService("tests"), deadline: undefined },
    });
    await eventually(() => scheduleOf("updated").describe());

    // A server that starts makes it again.
    await scheduleOf("updated").delete();
    await patiently(() => ensureSchedules(stack.workflows, stack.deps.reader));
    await scheduleOf("updated").describe();
  });
});

describe("a run", () => {
  const grantTo = (programId: string, userId: string, points: number) =>
    grantPoints(stack.deps, {
      programId,
      userId,
      eventId: `${points}`,
      points,
      reason: "",
      caller: asService("tests"),
      deadline: undefined,
    });

  /** Triggers the schedule, and returns the run that it has started. */
  async function triggered(programId: string): Promise<WorkflowHandle> {
    const schedule = scheduleOf(programId);
    const { numActionsTaken } = (await schedule.describe()).info;
    await schedule.trigger();
    return eventually(async () => {
      const { info } = await schedule.describe();
      const action = info.recentActions.at(-1)?.action;
      if (!action || info.numActionsTaken === numActionsTaken) throw new Error("not started yet");
      const { workflowId, firstExecutionRunId } = action.workflow;
      return stack.client.workflow.getHandle(workflowId, firstExecutionRunId);
    });
  }

  const resultOf = async (run: WorkflowHandle) => (await run.result()) as ExpiryNoticesResult;

  const notices = () =>
    notify.mock.calls.map(([, sent]) => `${sent.userId} ${sent.eventId} ${sent.label}`).toSorted();

  test("notifies the members whose points expire next, and nobody too early", async () => {
    const { deps, client } = stack;
    await setTime(deps, Date.UTC(2027, 0, 10));
    await ensure(await newProgram("run", 7));
    await grantTo("run", "aoi", 10);
    await grantTo("run", "ben", 1_234);
    await setTime(deps, Date.UTC(2027, 1, 10));
    await grantTo("run", "later", 30);
    await setTime(deps, Date.UTC(2027, 2, 10));
    const early = await triggered("run");
    const none = "The program notifies nobody of points that expire now.";
    expect(await resultOf(early)).toEqual({ notified: 0, unaffected: 0, failed: 0, report: none });
    expect(notices()).toEqual([]);

    await setTime(deps, Date.UTC(2027, 2, 25, 1));
    const run = await triggered("run");
    const report =
      "Points that expire at the start of 2027-04: 2 members notified, " +
      "0 accounts without such points, 0 failed";
    const counts = { notified: 2, unaffected: 0, failed: 0 };
    expect(await resultOf(run)).toEqual({ ...counts, month: "2027-04", report });
    expect(notices()).toEqual(["aoi x.run.2027-04 10", "ben x.run.2027-04 1234"]);
    expect((await metadataOf(run)).currentDetails).toBe(report);
    expect(await (await run.describe()).staticSummary()).toBe(
      "notify members of run of points that expire soon (Asia/Tokyo)",
    );
    await eventually(async () => {
      const query = 'WorkflowType = "expiryNotices" AND MeguriProgram = "run"';
      expect((await client.workflow.count(`${query} AND MeguriState = "DONE"`)).count).toBe(2);
    });
  });

  test("fails when accounts fail, and the next one notifies these members, too", async () => {
    const { deps } = stack;
    await setTime(deps, Date.UTC(2027, 3, 10));
    await ensure(await newProgram("fails", 3));
    for (const userId of ["a", "b", "c"]) await grantTo("fails", userId, 10);
    await setTime(deps, Date.UTC(2027, 5, 28, 1));
    notify.mockImplementation(async (_, { userId }) => {
      if (userId === "b") throw new DomainError("CONTENDED", "a busy inbox");
    });
    const cause = await resultOf(await triggered("fails")).then(
      () => expect.unreachable("it should fail"),
      (error: WorkflowFailedError) => error.cause as ApplicationFailure,
    );
    expect(cause).toMatchObject({ type: "EXPIRY_NOTICES_INCOMPLETE", nonRetryable: true });
    expect(cause.message).toContain("2 members notified");
    expect(cause.message).toContain("1 failed: b (CONTENDED)");

    notify.mockReset();
    expect(await resultOf(await triggered("fails"))).toMatchObject({ notified: 3, failed: 0 });
    expect(notices()).toContain("b x.fails.2027-07 10");
  });
});
