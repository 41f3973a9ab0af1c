/** Tests the month-end sweep: what it expires, and when its schedule runs it. */

import type { WorkflowFailedError, WorkflowHandle } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import type { temporal } from "@temporalio/proto";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grantPoints } from "../../src/app/points/commands.ts";
import { verifyAccount } from "../../src/app/points/verify.ts";
import type { Deps } from "../../src/app/ports/deps.ts";
import { programRef } from "../../src/app/ports/records.ts";
import { createProgram } from "../../src/app/programs/commands.ts";
import { setTime } from "../../src/app/testing/test-clock.ts";
import {
  type MonthEndFailure,
  type MonthEndResult,
  monthEndId,
} from "../../src/contract/month-ends.ts";
import { asService } from "../../src/domain/caller.ts";
import type { LedgerEntry } from "../../src/domain/ledger.ts";
import { escapeMarkdown } from "../../src/domain/markdown.ts";
import { monthAt, monthStart, parseMonth } from "../../src/domain/month.ts";
import type { Item } from "../../src/store/dynamodb/sdk/attributes.ts";
import { keepEnsuringSchedules } from "../../src/temporal/keep-schedules.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { heldLease } from "../support/fixtures/held-lease.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { changeItem } from "../support/stores/change-item.ts";
import { createMemoryStore } from "../support/stores/memory-store.ts";

let stack: WorkerStack;
let runs = 0;
beforeAll(async () => {
  stack = await startWorkerStack({ testClock: true, lifetime: 3 });
});
afterAll(() => stack.stop());

const monthEnd = (programId: string): Promise<MonthEndResult> =>
  stack.client.workflow.execute("monthEnd", {
    workflowId: `month-end-test-${++runs}`,
    taskQueue: stack.config.taskQueue,
    args: [{ program_id: programId }],
  });

const at = (month: number, day = 1) => Date.UTC(2027, month - 1, day, 3);

async function newProgram(id: string, timeZone = "Asia/Tokyo"): Promise<string> {
  await createProgram(stack.deps, { programId: id, timeZone, lifetimeMonths: 3 });
  return id;
}

const grantTo = (deps: Deps, programId: string, userId: string, eventId: string, points: number) =>
  grantPoints(deps, {
    programId,
    userId,
    eventId,
    points,
    reason: "",
    caller: asService("tests"),
    deadline: undefined,
  });

/** The outcome of the last month end on the program's record. */
const keptOf = async (programId: string) =>
  (await stack.deps.reader.get(programRef(programId)))?.value.monthEnd;

/** A ledger without the times at which it was written. */
async function ledgerOf(programId: string, userId: string) {
  const all = { from: 1, to: 1_000, newestFirst: false, types: [] };
  const page = { size: 1_000, cursor: undefined };
  const { items } = await stack.deps.reader.entries({ programId, userId }, all, page);
  return items.map(({ createTime: _, ...entry }: LedgerEntry) =>
    entry.type === "EXPIRED" ? entry : { ...entry, effectiveTime: 0 },
  );
}

/** Changes the record of an account without a server. */
const tamper = (programId: string, userId: string, change: (item: Item) => Item) =>
  changeItem(
    stack.clients.retrying,
    `${stack.config.tablePrefix}points`,
    { pk: { S: `A#${programId}#${userId}` }, sk: { S: "A" } },
    change,
  );

/** The details that the Web UI shows, also after the end of the run. */
async function currentDetails(handle: WorkflowHandle): Promise<string | null | undefined> {
  const metadata = await handle.query<temporal.api.sdk.v1.IWorkflowMetadata>(
    "__temporal_workflow_metadata",
  );
  return metadata.currentDetails;
}

/** Waits until the visibility store finds a run by its state. */
const findByState = (prefix: string, state: string) =>
  eventually(async () => {
    const query = `WorkflowId STARTS_WITH "${prefix}" AND MeguriState = "${state}"`;
    expect((await stack.client.workflow.count(query)).count).toBe(1);
  });

describe("a month's end", () => {
  test("expires what is due, and only that", async () => {
    const { deps } = stack;
    const programId = await newProgram("due");
    await setTime(deps, at(1, 10));
    await grantTo(deps, programId, "old", "jan", 10);
    await setTime(deps, at(2, 10));
    await grantTo(deps, programId, "young", "feb", 20);
    await grantTo(deps, programId, "old", "feb", 20);

    await setTime(deps, at(3, 31));
    expect(await monthEnd(programId)).toMatchObject({ expired: 0, unchanged: 0, failed: 0 });
    await setTime(deps, at(4));
    expect(await monthEnd(programId)).toMatchObject({ expired: 1, unchanged: 0, failed: 0 });
    expect(await ledgerOf(programId, "young")).toHaveLength(1);
    const expired = (await ledgerOf(programId, "old"))[2];
    expect(expired).toMatchObject({
      type: "EXPIRED",
      points: 10,
      availablePoints: 20,
      effectiveTime: Date.UTC(2027, 2, 31, 15),
    });
    expect(await monthEnd(programId)).toMatchObject({ expired: 0, unchanged: 0, failed: 0 });
    expect(await ledgerOf(programId, "old")).toHaveLength(3);
  });

  test("leaves the same ledger month by month, twice, and three months at once", async () => {
    const { deps } = stack;
    const programs = [await newProgram("monthly"), await newProgram("at-once")] as const;
    const userIds = ["a", "b", "c"];
    for (const month of [1, 2, 3]) {
      await setTime(deps, at(month, 5));
      for (const programId of programs) {
        for (const userId of userIds)
          await grantTo(deps, programId, userId, `m${month}`, month * 10);
      }
    }
    for (const month of [4, 5, 6]) {
      await setTime(deps, at(month));
      expect(await monthEnd(programs[0])).toMatchObject({ expired: 3, unchanged: 0, failed: 0 });
      expect(await monthEnd(programs[0])).toMatchObject({ expired: 0, unchanged: 0, failed: 0 });
    }
    expect(await monthEnd(programs[1])).toMatchObject({ expired: 3, unchanged: 0, failed: 0 });
    for (const userId of userIds) {
      const ledger = await ledgerOf(programs[0], userId);
      expect(ledger).toHaveLength(6);
      expect(ledger.at(-1)).toMatchObject({ availablePoints: 0 });
      expect(await ledgerOf(programs[1], userId)).toEqual(ledger);
    }
  });

  test("fails after all accounts but the damaged ones, and names these", async () => {
    const { deps, client, workflows } = stack;
    const programId = await newProgram("damaged");
    await setTime(deps, at(1, 10));
    for (const userId of ["a", "b", "c", "d"]) await grantTo(deps, programId, userId, "jan", 10);
    await tamper(programId, "b", (item) => ({ ...item, n: { N: "0" } }));
    await tamper(programId, "c", ({ s, ...item }) => ({
      ...item,
      s: { L: [...(s?.L ?? []), { N: "0" }] },
    }));
    await setTime(deps, at(4));
    const found = await deps.reader.get(programRef(programId));
    if (!found) throw new Error("no program");
    await patiently(() => workflows.ensureMonthEnd(found.value));
    const schedule = client.schedule.getHandle(monthEndId(programId));
    const runOf = async (past: readonly string[]) => {
      await schedule.trigger();
      return eventually(async () => {
        const { info } = await schedule.describe();
        const actions = info.recentActions.map(({ action }) => action.workflow);
        const run = actions.find(({ firstExecutionRunId: id }) => !past.includes(id));
        if (!run) throw new Error("not started yet");
        return run;
      });
    };
    const first = await runOf([]);
    const ended = client.workflow.getHandle(first.workflowId, first.firstExecutionRunId);
    const cause = await ended.result().then(
      () => expect.unreachable("it should fail"),
      (error: WorkflowFailedError) => error.cause as ApplicationFailure,
    );
    expect(cause).toMatchObject({ type: "MONTH_END_INCOMPLETE", nonRetryable: true });
    expect(cause.message).toMatch(
      /^could not expire what is due in 2 accounts, which are left to the next run: /,
    );
    for (const name of ["b (CONTENDED)", "c (PROGRAM_STALE)"])
      expect(cause.message).toContain(name);
    const [details] = cause.details as [MonthEndFailure];
    expect(details).toMatchObject({ expired: 2, unchanged: 0, failed: 2 });
    const report = await currentDetails(ended);
    expect(report).toBe(details.report);
    expect(report).toMatch(/^The month end of March 2027 \(2027-03\) is incomplete\. /);
    expect(report).toContain(": 2 accounts, 0 unchanged, 2 failed: ");
    for (const name of ["b (CONTENDED)", "c (PROGRAM_STALE)"]) expect(report).toContain(name);
    await findByState(first.workflowId, "FAILED");
    expect(details.failures.toSorted((x, y) => x.user_id.localeCompare(y.user_id))).toEqual([
      { user_id: "b", reason: "CONTENDED" },
      { user_id: "c", reason: "PROGRAM_STALE" },
    ]);
    expect((await ledgerOf(programId, "d")).at(-1)).toMatchObject({ type: "EXPIRED", points: 10 });
    const march = parseMonth("2027-03");
    expect(await keptOf(programId)).toEqual({ month: march, failedCount: 2 });

    // The schedule is not paused, and its next run expires the repaired accounts.
    expect((await schedule.describe()).state.paused).toBe(false);
    await verifyAccount(deps, { programId, userId: "b" }, true);
    await verifyAccount(deps, { programId, userId: "c" }, true);
    const second = await runOf([first.firstExecutionRunId]);
    const again = client.workflow.getHandle(second.workflowId, second.firstExecutionRunId);
    expect(await again.result()).toMatchObject({ failed: 0 });
    expect(await keptOf(programId)).toEqual({ month: march, failedCount: 0 });
    expect((await ledgerOf(programId, "b")).at(-1)).toMatchObject({ type: "EXPIRED", points: 10 });
  });

  test("is missed in the metrics and the details of the reconciler until it has run", async () => {
    const { deps, client, config, metrics } = stack;
    await setTime(deps, at(1, 10));
    const programId = await newProgram("missed");
    await setTime(deps, at(3));
    const reconciler = await client.workflow.start("reconciler", {
      workflowId: "reconciler-of-month-ends",
      taskQueue: config.taskQueue,
      args: [{}],
    });
    const samples = (id: string) =>
      metrics.registry
        .metrics()
        .then((page) => page.split("\n").filter((line) => line.includes(`{program_id="${id}"}`)));
    const expectBehind = (id: string, months: number) =>
      eventually(async () =>
        expect(await samples(id)).toEqual([
          `meguri_month_end_months_behind{program_id="${id}"} ${months}`,
          `meguri_month_end_failed_accounts{program_id="${id}"} 0`,
        ]),
      );
    await expectBehind(programId, 2);
    await eventually(async () => {
      const details = await currentDetails(reconciler);
      expect(details).toContain("Month ends are behind in ");
      expect(details).toContain(`${escapeMarkdown(programId)} (2 months)`);
    });
    await monthEnd(programId);
    await expectBehind(programId, 0);
    await reconciler.terminate();
  });

  test("of an unknown program fails with the reason", async () => {
    await expect(monthEnd("nowhere")).rejects.toMatchObject({
      cause: { type: "PROGRAM_NOT_FOUND", nonRetryable: true },
    });
    await findByState("month-end-test", "FAILED");
  });

  test("reports its months in the program's zone, and how far it has come", async () => {
    const { deps, client, config } = stack;
    const programId = await newProgram("reported", "America/New_York");
    await setTime(deps, Date.UTC(2026, 10, 10));
    for (const userId of ["a", "b"]) await grantTo(deps, programId, userId, "nov", 10);
    await setTime(deps, Date.UTC(2026, 11, 10));
    await grantTo(deps, programId, "c", "dec", 10);
    const run = (workflowId: string) =>
      client.workflow.start("monthEnd", {
        workflowId,
        taskQueue: config.taskQueue,
        args: [{ program_id: programId }],
      });
    // In New York, February begins five hours after this.
    await setTime(deps, Date.UTC(2027, 1, 1));
    const early = await run("month-end-early");
    const december = { month: "2026-12", granted_up_to: "2026-10" };
    expect(await early.result()).toMatchObject({ expired: 0, months: december });

    await setTime(deps, Date.UTC(2027, 1, 1, 5));
    const handle = await run("month-end-reported");
    const report =
      "The month end of January 2027 (2027-01) is done. Expired what was granted up to " +
      "November 2026 (2026-11): 2 accounts, 0 unchanged, 0 failed";
    const months = { month: "2027-01", granted_up_to: "2026-11" };
    expect(await handle.result()).toEqual({ expired: 2, unchanged: 0, failed: 0, months, report });
    expect(await currentDetails(handle)).toBe(report);
    await findByState("month-end-reported", "DONE");
    await eventually(async () => {
      const query = 'MeguriMonth = "2027-01" AND MeguriState = "DONE"';
      expect((await client.workflow.count(query)).count).toBe(1);
    });

    const { events } = await handle.fetchHistory();
    const summaries = (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes, userMetadata }) =>
        activityTaskScheduledEventAttributes?.activityType?.name === "expireShard"
          ? [Buffer.from(userMetadata?.summary?.data ?? []).toString()]
          : [],
    );
    expect(summaries).toContain('"shard 16 of 16"');
  });
});

describe("the schedule", () => {
  test.each(["Asia/Tokyo", "America/New_York", "Pacific/Kiritimati"])(
    "follows %s",
    async (timeZone) => {
      const { deps, workflows, client } = stack;
      const id = await newProgram(`zone-${timeZone.replace("/", "-")}`, timeZone);
      const found = await deps.reader.get(programRef(id));
      if (!found) throw new Error("no program");
      await patiently(() => workflows.ensureMonthEnd(found.value));
      await patiently(() => workflows.ensureMonthEnd(found.value));
      const schedule = client.schedule.getHandle(monthEndId(id));
      const { spec, policies, info } = await schedule.describe();
      expect(spec.timezone).toBe(timeZone);
      expect(policies).toMatchObject({
        overlap: "BUFFER_ONE",
        catchupWindow: 365 * 24 * 3_600_000,
      });
      const now = Date.now();
      const [first, second] = info.nextActionTimes.map((time) => time.getTime());
      const begin = monthStart(timeZone, monthAt(timeZone, now) + 1);
      expect([first, second]).toEqual([begin + 10_000, begin + 3_610_000]);
    },
  );

  test.each([
    // Clocks went from 0:00 to 1:00.
    ["America/Asuncion", "2023-10-01", ["04:00:10"]],
    // Clocks went from 1:00 back to 0:00.
    ["America/Havana", "2026-11-01", ["04:00:10", "05:00:10", "06:00:10"]],
  ])("in %s on %s", async (timeZone, date, expected) => {
    const { workflows } = stack;
    const programId = await newProgram(`on-${date}`, timeZone);
    const lifetimes = [{ lifetimeMonths: 3, effectiveTime: 0 }];
    const program = { programId, timeZone, lifetimes, createTime: 0 };
    await patiently(() => workflows.ensureMonthEnd(program));
    const { connection, namespace } = workflows.link;
    const seconds = (time: string) => (Date.parse(`${date}T${time}Z`) / 1_000) as unknown as null;
    const { startTime } = await connection.workflowService.listScheduleMatchingTimes({
      namespace,
      scheduleId: monthEndId(programId),
      startTime: { seconds: seconds("00:00:00") },
      endTime: { seconds: seconds("23:59:59") },
    });
    const times = startTime.map((time) => new Date(Number(time.seconds) * 1_000).toISOString());
    expect(times).toEqual(expected.map((time) => `${date}T${time}.000Z`));
  });

  test("of one program that cannot be created does not stop those of others", async () => {
    const { client, workflows } = stack;
    const { reader, force } = createMemoryStore();
    const of = (id: string, timeZone: string) => {
      const lifetimes = [{ lifetimeMonths: 3, effectiveTime: 0 }];
      force(programRef(id), { programId: id, timeZone, lifetimes, createTime: 0 });
    };
    of("a-bad", "Asia/Edo");
    of("b-good", "Asia/Tokyo");
    of("c-bad", "asia/tokyo");
    of("d-good", "Europe/Berlin");
    const lines: { level: number; programId?: string }[] = [];
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
    const logging = { ...workflows, link: { ...workflows.link, log } };
    await expect(ensureSchedules(logging, reader)).rejects.toThrow("a-bad, c-bad");
    const warned = lines.filter(({ level, programId }) => level === 40 && programId !== undefined);
    expect(warned.map(({ programId }) => programId)).toEqual(["a-bad", "c-bad"]);
    for (const id of ["b-good", "d-good"]) {
      const { spec } = await client.schedule.getHandle(monthEndId(id)).describe();
      expect(spec.timezone).toBe(id === "b-good" ? "Asia/Tokyo" : "Europe/Berlin");
    }
    const schedules = keepEnsuringSchedules(logging, reader, heldLease());
    await eventually(async () => expect(schedules.notEnsured()).toBe(2));
    of("a-bad", "Asia/Tokyo");
    of("c-bad", "Asia/Tokyo");
    await eventually(async () => expect(schedules.notEnsured()).toBe(0));
    await schedules.stop();
  });

  test("runs the sweep, findable by its program", async () => {
    const { client, deps, workflows } = stack;
    const id = await newProgram("triggered");
    const found = await deps.reader.get(programRef(id));
    if (!found) throw new Error("no program");
    await patiently(() => workflows.ensureMonthEnd(found.value));
    const schedule = client.schedule.getHandle(monthEndId(id));
    await schedule.trigger();
    const workflowId = await eventually(async () => {
      const query = `WorkflowType = "monthEnd" AND MeguriProgram = "${id}"`;
      for await (const each of client.workflow.list({ query })) return each.workflowId;
      throw new Error("not listed yet");
    });
    const handle = client.workflow.getHandle(workflowId);
    expect(await handle.result()).toMatchObject({ expired: 0, unchanged: 0, failed: 0 });
    const description = await handle.describe();
    expect(await description.staticSummary()).toContain("Asia/Tokyo");
    const { raw } = description;
    expect(Number(raw.executionConfig?.workflowRunTimeout?.seconds)).toBe(7 * 24 * 3_600);
    const { events } = await handle.fetchHistory();
    const started = events?.[0]?.workflowExecutionStartedEventAttributes?.searchAttributes;
    const state = started?.indexedFields?.MeguriState?.data ?? [];
    expect(Buffer.from(state).toString()).toBe('"RUNNING"');
  });
});
