/** Tests the schedules of month ends: when they run the sweep, and how they are ensured. */
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { monthAt, monthStart } from "../../../src/platform/words/month.ts";
import { monthEndId } from "../../../src/points/contract/month-ends.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import { ensuringPauses, keepEnsuringSchedules } from "../../../src/temporal/keep-schedules.ts";
import { ensureSchedules } from "../../../src/temporal/schedules.ts";
import { createWorkflows } from "../../../src/temporal/workflows.ts";
import { heldLease } from "../../support/fixtures/held-lease.ts";
import { newProgram } from "../../support/fixtures/month-ends.ts";
import { eventually, patiently } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

describe.concurrent("the schedule", () => {
  test.each(["Asia/Tokyo", "America/New_York", "Pacific/Kiritimati"])(
    "follows %s",
    async (timeZone) => {
      const { deps, workflows, client } = stack;
      const id = await newProgram(stack, `zone-${timeZone.replace("/", "-")}`, timeZone);
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
    const programId = await newProgram(stack, `on-${date}`, timeZone);
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

  test("of one program that cannot be created does not stop those of others", async (context) => {
    const { client, config } = stack;
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
    const { temporalAddress: address, temporalNamespace: namespace, taskQueue } = config;
    // Of its own, as the requests about schedules wait for each other on a connection.
    const workflows = createWorkflows({ address, namespace, taskQueue, log });
    context.onTestFinished(() => workflows.close());
    await expect(ensureSchedules(workflows, reader)).rejects.toThrow("a-bad, c-bad");
    const warned = lines.filter(({ level, programId }) => level === 40 && programId !== undefined);
    expect(warned.map(({ programId }) => programId)).toEqual(["a-bad", "c-bad"]);
    for (const id of ["b-good", "d-good"]) {
      const { spec } = await client.schedule.getHandle(monthEndId(id)).describe();
      expect(spec.timezone).toBe(id === "b-good" ? "Asia/Tokyo" : "Europe/Berlin");
    }
    const pauses = { ...ensuringPauses, failedMs: 200 };
    const schedules = keepEnsuringSchedules(workflows, reader, heldLease(), [], pauses);
    await eventually(async () => expect(schedules.notEnsured()).toBe(2));
    of("a-bad", "Asia/Tokyo");
    of("c-bad", "Asia/Tokyo");
    await eventually(async () => expect(schedules.notEnsured()).toBe(0));
    await schedules.stop();
  });

  test("runs the sweep, findable by its program", async () => {
    const { client, deps, workflows } = stack;
    const id = await newProgram(stack, "triggered");
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
