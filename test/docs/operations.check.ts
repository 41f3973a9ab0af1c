/**
 * Runs the commands that pages of docs/run have for reservations and bulk grants with the Temporal
 * CLI, against a server and a worker, and compares what they print with the pages.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BulkGrant_State as BulkGrantState } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { Reservation_State as State } from "../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { findTemporalCli } from "../../tools/dev/stack/temporal-cli.ts";
import { type ConsoleStep, consoleSteps, patternOf } from "../support/console.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import {
  codeBlocks,
  codeNamed,
  onPorts,
  projectRoot,
  type Shell,
  startShell,
} from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

const reservations = "docs/run/reservations.md";
const document = readFileSync(projectRoot + reservations, "utf8");
const pages = [reservations, "docs/run/bulk-grants.md", "docs/run/background.md"];

/** The text without quote marks and line breaks. */
const unwrapped = (text: string): string => text.replaceAll(/[\s>]+/g, " ");

const steps = pages
  .flatMap(consoleSteps)
  .filter(({ command }) => /^(temporal|call|view) /.test(command));

let folder: string;
let stack: WorkerStack;
let server: TestServer;
let shell: Shell;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-operations-"));
  const sources = join(folder, "sources.json");
  const nightly = {
    ...{ name: "nightly", identity: "nightly-batch", programs: ["default", "cafe"] },
    ...{ type: "folder", path: folder },
  };
  await writeFile(sources, JSON.stringify({ sources: [nightly] }));
  stack = await startWorkerStack({
    store: "dynamodb",

    env: { MEGURI_BULK_SOURCES: sources },
  });
  const { tablePrefix, temporalAddress, temporalNamespace } = stack.config;
  server = await startServer({ tablePrefix, workflows: stack.workflows, testClock: false });
  const bulkRules = { sources: ["nightly"] };
  for (const programId of ["default", "cafe"]) {
    await server.programs.createProgram({ programId, bulkRules });
  }
  shell = startShell();
  await shell.run(`export PATH="$PATH:${dirname(await findTemporalCli())}"`);
  await shell.run(`export TEMPORAL_ADDRESS=${temporalAddress}`);
  await shell.run(`export TEMPORAL_NAMESPACE=${temporalNamespace}`);
  await shell.run(onPorts(codeBlocks("docs/call/tutorial.md")[0]?.code ?? "", server));
  await shell.run(codeNamed(reservations, "view"));
});
afterAll(async () => {
  await shell?.close();
  await server?.stop();
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a command. A refused Update makes it fail, with the message that the page prints. */
const run = (command: string): Promise<string> => {
  const queue = `--task-queue ${stack.config.taskQueue}`;
  return shell.run(`{ ${command.replaceAll("--task-queue meguri", queue)}; } 2>&1 || true`);
};

const checked = new Set<ConsoleStep>();

/** Runs the next command of the pages that contains this text, and compares what it prints. */
async function check(text: string): Promise<void> {
  const step = steps.find((each) => each.command.includes(text) && !checked.has(each));
  if (!step) throw new Error(`no page has a further command with ${text}`);
  checked.add(step);
  const { command, printed } = step;
  const compare = async () => {
    const answer = await run(command);
    if (printed !== "") expect(answer).toMatch(patternOf(printed));
  };
  // What only reads is run until the workflow has come so far.
  if (/^(view|temporal workflow (query|metadata|result|list)) /.test(command))
    await eventually(compare);
  else await compare();
}

interface Reserved {
  readonly points?: bigint;
  readonly programId?: string;
  readonly inMs?: number;
}

const reserve = (reservationId: string, userId: string, reserved: Reserved = {}) => {
  const { points = 50n, programId = "default", inMs = 3_600_000 } = reserved;
  const executeTime = timestampFromMs(Date.now() + inMs);
  const shop = server.clientsOf("shop").reservations;
  return shop.createReservation({ programId, reservationId, userId, points, executeTime });
};

async function comesTo(reservationId: string, state: State, programId = "default"): Promise<void> {
  await eventually(async () => {
    const { reservation } = await server.reservations.getReservation({ programId, reservationId });
    expect(reservation?.state).toBe(state);
  });
}

test("reservations that wait, failed, are changed, and were granted", async () => {
  const { points } = server;
  await points.freezeAccount({ userId: "dan", eventId: "freeze" });
  const paused = { programId: "cafe", reason: "points doubled by mistake" };
  await server.clientsOf("ops").reservations.pauseProgramReservations(paused);
  await reserve("stamp-9", "ben", { programId: "cafe", points: 20n, inMs: 0 });
  await reserve("review-78", "eri", { inMs: 1_000 });
  for (const id of ["review-79", "review-84"]) await reserve(id, "dan", { inMs: 0 });
  await reserve("review-82", "chie", { points: 80n });
  for (const id of ["review-81", "review-83"]) await reserve(id, "fumi");
  await check("stamp-9 --type details");

  for (const id of ["review-79", "review-84"]) await comesTo(id, State.FAILED);
  await points.unfreezeAccount({ userId: "dan", eventId: "unfreeze" });
  await eventually(async () => {
    const ended = await run("temporal workflow describe -w reservation/default/review-79");
    expect(ended).toContain("FAILED");
  });
  const details = await run("temporal workflow metadata -w reservation/default/review-79");
  expect(unwrapped(document)).toContain(unwrapped(details.split("Current Details:\n")[1] ?? ""));
  await check("view ");
  await check("reset --workflow-id reservation/default/review-84");
  await check("execute-update-with-start --workflow-id reservation/default/review-79");
  for (const id of ["review-79", "review-84"]) await comesTo(id, State.DONE);

  await check("review-82 --name reschedule");
  await check("review-82 --name reschedule");
  await check("GetReservation");
  await check("review-83 --name cancel");
  await check("cancel --workflow-id reservation/default/review-81");
  await comesTo("review-81", State.CANCELLED);
  await check("result -w reservation/default/review-78");
  await check("PauseProgramReservations");
  await check("ResumeProgramReservations");
  await comesTo("stamp-9", State.DONE, "cafe");
});

test("a terminated run, and a lost namespace", async () => {
  await reserve("review-76", "aoi");
  for (const id of ["birthday-aoi", "birthday-emi", "campaign-1-fumi"]) await reserve(id, "aoi");
  await eventually(async () => {
    const workflow = "reservation/default/review-76";
    expect(await run(`temporal workflow terminate -w ${workflow}`)).toContain("terminated");
  });
  // The namespace has no schedules yet, as a lost one, so all missing runs are started.
  await ensureSchedules(stack.workflows, stack.deps.reader);
  await check("list --query 'WorkflowId = \"reservation/default/review-76\"'");
  await check("reconcile-reservations/everything");
});

/** Submits the sheet of the page, and waits until it awaits approval. Returns its digest. */
async function submit(bulkGrantId: string): Promise<string> {
  const members = Array.from({ length: 30 }, (_, i) => `member-${i + 1},500,spring campaign\n`);
  await writeFile(join(folder, "spring.csv"), `user_id,points,reason\n${members.join("")}`);
  const { taskQueue } = stack.config;
  await stack.client.workflow.start("bulkGrantFromSource", {
    workflowId: `bulk-grant/default/${bulkGrantId}`,
    taskQueue,
    args: [
      {
        ...{ program_id: "default", bulk_grant_id: bulkGrantId, source: "nightly/spring.csv" },
        subject: "mei",
      },
    ],
  });
  return eventually(async () => {
    const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId });
    expect(bulkGrant?.state).toBe(BulkGrantState.AWAITING_APPROVAL);
    return bulkGrant?.digest ?? "";
  });
}

test("bulk grants that wait for approvals, and one with a failed row", async () => {
  await submit("spring-2028");
  await check("metadata -w bulk-grant/default/spring-2028");
  await check("spring-2028 --name reject");

  const digest = await submit("spring-2029");
  await server.points.freezeAccount({ userId: "member-7", eventId: "freeze" });
  const approved = { bulkGrantId: "spring-2029", digest };
  await server.clientsOf("rin").bulkGrants.approveBulkGrant(approved);
  await check("result -w bulk-grant/default/spring-2029");
  await server.points.unfreezeAccount({ userId: "member-7", eventId: "unfreeze" });
  await check("execute-update-with-start --workflow-id bulk-grant/default/spring-2029");
});

test("every command of the pages is in this test", () => {
  const unchecked = steps.filter((step) => !checked.has(step)).map(({ command }) => command);
  expect(unchecked).toEqual([]);
});
