/** Runs the commands of docs/run/runbook.md, against a server and a worker. */
import { dirname } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BulkGrant_State as BulkGrantState } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { findTemporalCli } from "../../tools/dev/stack/temporal-cli.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { codeBlocks, onPorts, type Shell, startShell } from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
let server: TestServer;
let shell: Shell;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb" });
  const { tablePrefix, temporalAddress, temporalNamespace } = stack.config;
  server = await startServer({ tablePrefix, workflows: stack.workflows, testClock: false });
  await server.programs.createProgram({ programId: "default" });
  await ensureSchedules(stack.workflows, stack.deps.reader);
  shell = startShell();
  await shell.run(`export PATH="$PATH:${dirname(await findTemporalCli())}"`);
  await shell.run(`export TEMPORAL_ADDRESS=${temporalAddress}`);
  await shell.run(`export TEMPORAL_NAMESPACE=${temporalNamespace}`);
  await shell.run(`export MEGURI_URL=http://127.0.0.1:${server.port}`);
  await shell.run(`meguri() { "${process.execPath}" packages/cli/src/meguri.js "$@"; }`);
  await shell.run(onPorts(codeBlocks("docs/call/tutorial.md")[0]?.code ?? "", server));
});
afterAll(async () => {
  await shell?.close();
  await server?.stop();
  await stack?.stop();
});

/** The bulk grant has ended, so it is neither paused nor cancelled. */
const isRefused = /^meguri bulk (pause|cancel) /;

test("every command succeeds", async () => {
  await server.points.grantPoints({ userId: "alice", eventId: "order-17", points: 100n });
  await shell.run("printf 'user_id,points\\nalice,10\\n' | meguri bulk submit spring -");
  const digest = await eventually(async () => {
    const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId: "spring" });
    expect(bulkGrant?.state).toBe(BulkGrantState.AWAITING_APPROVAL);
    return bulkGrant?.digest ?? "";
  });
  const rin = server.clientsOf("rin").bulkGrants;
  await rin.approveBulkGrant({ bulkGrantId: "spring", digest });
  await eventually(async () => {
    const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId: "spring" });
    expect(bulkGrant?.state).toBe(BulkGrantState.DONE);
  });

  const blocks = codeBlocks("docs/run/runbook.md").filter(({ language }) => language === "sh");
  const commands = blocks.flatMap(({ code }) => code.trimEnd().split("\n"));
  expect(commands.length).toBeGreaterThan(20);
  for (const command of commands) {
    const queue = `--task-queue ${stack.config.taskQueue}`;
    const run = () => shell.run(command.replaceAll("--task-queue meguri", queue));
    if (isRefused.test(command)) await expect(run()).rejects.toThrow("WRONG_STATE");
    else if (command.startsWith("temporal workflow metadata")) await eventually(run);
    else await run();
  }
});
