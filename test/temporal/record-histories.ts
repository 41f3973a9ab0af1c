/** Runs one workflow for each way through the code and keeps its history; see replay.test.ts. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import type { WorkflowHandle } from "@temporalio/client";
import { grantPoints } from "../../src/app/points.ts";
import { react } from "../../src/app/reactions.ts";
import { cancelReservation, rescheduleReservation } from "../../src/app/reservations.ts";
import { deleteTarget, registerTarget } from "../../src/app/targets.ts";
import { findTemporalCli } from "../../src/cli/stack/temporal-cli.ts";
import { startTemporal } from "../../src/cli/stack/temporal-dev-server.ts";
import { removeTargetId, verifyWorkflowId } from "../../src/contract.ts";
import { startWorkerStack, type WorkerStack } from "../support/worker.ts";
import { eventually, freeze, reserveAndStart } from "./support.ts";

export const historiesFolder = `${import.meta.dirname}/histories`;

const hour = 3_600_000;

type Record = (name: string, handle: WorkflowHandle, runId?: string) => Promise<void>;

export async function recordHistories(): Promise<void> {
  await mkdir(historiesFolder, { recursive: true });
  const stack = await startWorkerStack();
  try {
    await reservations(stack, recorder(stack));
    await sweeps(stack, recorder(stack), "");
    await removal(stack, recorder(stack), "");
    await incompleteMonthEnd(stack, recorder(stack));
  } finally {
    await stack.stop();
  }
  const temporal = await startTemporal({
    ignoreRunning: true,
    dynamicConfig: { "limit.historyCount.suggestContinueAsNew": "12" },
  });
  const short = await startWorkerStack({ temporalAddress: temporal.address });
  try {
    await continued(short, recorder(short));
    await sweeps(short, recorder(short), "-continued");
    await removal(short, recorder(short), "-continued");
  } finally {
    await short.stop();
    await temporal.stop();
  }
}

async function reservations(stack: WorkerStack, record: Record): Promise<void> {
  const { deps, program, proxy } = stack;
  await record("reservation-done", await reserveAndStart(stack, { id: "done", inMs: 1_000 }));
  await record("reservation-past", await reserveAndStart(stack, { id: "past", inMs: -hour }));

  await freeze(stack, "failed", true);
  await record("reservation-failed", await reserveAndStart(stack, { id: "failed", inMs: 500 }));

  const cancelled = await reserveAndStart(stack, { id: "cancelled", inMs: hour });
  await cancelReservation(deps, { program, id: "cancelled" });
  await record("reservation-cancelled", cancelled);

  const stopped = await reserveAndStart(stack, { id: "stopped", inMs: hour });
  await stopped.executeUpdate("cancel");
  await record("reservation-cancelled-by-update", stopped);

  const moved = await reserveAndStart(stack, { id: "moved", inMs: hour });
  await rescheduleReservation(deps, { program, id: "moved", executeTime: Date.now() + 2 * hour });
  await eventually(async () => {
    if (!String(await moved.query("state")).startsWith("Waits")) throw new Error("not yet");
  });
  const bad = [{ execute_time: "2099-01-01T00:00:00Z" }] as [unknown];
  await moved.executeUpdate("reschedule", { args: bad }).catch(() => {});
  const execute_time = new Date(Date.now() + 1_500).toISOString();
  await moved.executeUpdate("reschedule", { args: [{ execute_time }] as [unknown] });
  await record("reservation-moved", moved);

  const away = await reserveAndStart(stack, { id: "away", inMs: 1_000 });
  proxy.down(true);
  await eventually(async () => {
    const { raw } = await away.describe();
    if (!raw.pendingActivities?.length) throw new Error("not yet");
  });
  proxy.down(false);
  await record("reservation-store-away", away);
}

async function continued(stack: WorkerStack, record: Record): Promise<void> {
  const handle = await reserveAndStart(stack, { id: "continued", inMs: hour });
  const { runId } = await handle.describe();
  while ((await handle.describe()).runId === runId) {
    await handle.signal("look").catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await record("reservation-continued", handle, runId);
  await handle.executeUpdate("cancel");
}

async function sweeps(stack: WorkerStack, record: Record, suffix: string): Promise<void> {
  const { workflows, client, config, program } = stack;
  const { taskQueue } = config;
  const monthEnd = await client.workflow.start("monthEnd", {
    workflowId: "month-end",
    taskQueue,
    args: [{ program }],
  });
  await record(`month-end${suffix}`, monthEnd, monthEnd.firstExecutionRunId);
  await workflows.startVerification(program);
  const verify = client.workflow.getHandle(verifyWorkflowId(program));
  await record(`verify-program${suffix}`, verify);
  const reconcile = await client.workflow.start("reconcile", {
    workflowId: "reconcile",
    taskQueue,
    args: [{ everything: true }],
  });
  await record(`reconcile${suffix}`, reconcile);
}

/** An account whose ring is longer than its program's lifetime cannot be settled. */
async function incompleteMonthEnd(stack: WorkerStack, record: Record): Promise<void> {
  const { deps, program, client, clients, config } = stack;
  const change = { program, user: "damaged", eventId: "e", reason: "", caller: "tests" };
  await grantPoints(deps, { ...change, points: 10, deadline: undefined });
  await clients.retrying.send(
    new UpdateItemCommand({
      TableName: `${config.tablePrefix}points`,
      Key: { pk: { S: `A#${program}#damaged` }, sk: { S: "A" } },
      UpdateExpression: "SET s = list_append(s, :zero), xm = :old",
      ExpressionAttributeValues: { ":zero": { L: [{ N: "0" }] }, ":old": { N: "1" } },
    }),
  );
  const monthEnd = await client.workflow.start("monthEnd", {
    workflowId: "month-end-incomplete",
    taskQueue: config.taskQueue,
    args: [{ program }],
  });
  await record("month-end-incomplete", monthEnd);
}

async function removal(stack: WorkerStack, record: Record, suffix: string): Promise<void> {
  const { deps, client } = stack;
  const target = { type: "post", id: "removed" };
  await registerTarget(deps, { target, owner: "owner", title: "", link: "" });
  for (const kind of ["like", "love"]) await react(deps, { target, kind, user: "u", name: "U" });
  await deleteTarget(deps, { target });
  const handle = client.workflow.getHandle(removeTargetId(target));
  const { raw } = await handle.describe();
  await record(
    `remove-target${suffix}`,
    handle,
    raw.workflowExecutionInfo?.firstRunId ?? undefined,
  );
}

/** Waits until the workflow has ended and writes the history of its run, as the CLI shows it. */
const recorder =
  ({ client, config }: WorkerStack): Record =>
  async (name, { workflowId }, runId) => {
    const run = client.workflow.getHandle(workflowId, runId, { followRuns: runId === undefined });
    await run.result().catch(() => {});
    const args = ["workflow", "show", "--output", "json", "--workflow-id", workflowId];
    args.push("--address", config.temporalAddress, "--namespace", config.temporalNamespace);
    if (runId !== undefined) args.push("--run-id", runId);
    const { stdout } = await promisify(execFile)(await findTemporalCli(), args);
    // Who ran it, and on which machine, is nobody's business.
    const text = stdout.replaceAll(/"\d+@[^"]*"/g, '"recorded"');
    await writeFile(`${historiesFolder}/${name}.history.json`, text);
  };
