/**
 * Runs the commands of docs/run/runbook.md, against a server and a worker, and those that confirm a
 * fault in a fault.
 */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BulkGrant_State as BulkGrantState } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { findTemporalCli } from "../../tools/dev/stack/temporal-cli.ts";
import { reserveAndBegin } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { codeBlocks, onPorts, projectRoot, type Shell, startShell } from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startTcpProxy, type TcpProxy } from "../support/servers/tcp-proxy.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
let server: TestServer;
let shell: Shell;
let temporal: TcpProxy;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb" });
  const { tablePrefix, temporalAddress, temporalNamespace } = stack.config;
  temporal = await startTcpProxy(Number(temporalAddress.split(":")[1]));
  const { endpoint: dynamoEndpoint } = stack.proxy;
  const { workflows } = stack;
  server = await startServer({ tablePrefix, workflows, dynamoEndpoint, testClock: false });
  await server.programs.createProgram({ programId: "default" });
  await ensureSchedules(stack.workflows, stack.deps.reader);
  shell = startShell();
  await shell.run(`export PATH="$PATH:${dirname(await findTemporalCli())}"`);
  // The page sets what Temporal's CLI reads by the variables of a server.
  await shell.run("unset TEMPORAL_ADDRESS TEMPORAL_NAMESPACE");
  await shell.run(`MEGURI_TEMPORAL_ADDRESS=127.0.0.1:${temporal.port}`);
  await shell.run(`MEGURI_TEMPORAL_NAMESPACE=${temporalNamespace}`);
  await shell.run(`export MEGURI_URL=http://127.0.0.1:${server.port}`);
  await shell.run(`meguri() { "${process.execPath}" packages/cli/src/meguri.js "$@"; }`);
  await shell.run(onPorts(codeBlocks("docs/call/tutorial.md")[0]?.code ?? "", server));
});
afterAll(async () => {
  await shell?.close();
  await server?.stop();
  await temporal?.stop();
  await stack?.stop();
});

/** Runs a command in the shell of the page. */
const run = (command: string) =>
  shell.run(command.replaceAll("--task-queue meguri", `--task-queue ${stack.config.taskQueue}`));

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
    if (isRefused.test(command)) await expect(run(command)).rejects.toThrow("WRONG_STATE");
    else if (command.startsWith("temporal workflow metadata")) await eventually(() => run(command));
    else await run(command);
  }
});

/** The commands of the first block below a heading: those that confirm the fault. */
function confirming(heading: string): string[] {
  const page = readFileSync(`${projectRoot}docs/run/runbook.md`, "utf8");
  const section = page.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? "";
  const [, code = ""] = section.match(/\*\*Confirm\..*?^```sh\n(.*?)^```$/ms) ?? [];
  expect(code, heading).not.toBe("");
  return code.trimEnd().split("\n");
}

/** Faults by their heading: how each begins and ends, and what one of its commands says then. */
const faults: readonly {
  readonly heading: string;
  readonly begin: () => unknown;
  readonly end: () => unknown;
  readonly says: RegExp;
}[] = [
  {
    heading: "No server",
    begin: () => shell.run('url="$MEGURI_URL"; MEGURI_URL=http://127.0.0.1:9'),
    end: () => shell.run('MEGURI_URL="$url"'),
    says: /status 1 of meguri doctor.*ECONNREFUSED/s,
  },
  {
    heading: "Late",
    async begin() {
      stack.storeDown(true);
      await reserveAndBegin(stack, { id: "late" });
    },
    end: () => stack.storeDown(false),
    says: /reservation\/\S+\/late/,
  },
  {
    heading: "Store away",
    begin: () => stack.proxy.down(true),
    end: () => stack.proxy.down(false),
    says: /STORE_UNAVAILABLE|PROGRAM_STALE/,
  },
  {
    heading: "Temporal away",
    begin: () => temporal.cut(),
    end: () => temporal.restore(),
    says: /failed reaching server/,
  },
  {
    heading: "Temporal away",
    begin: () => temporal.hang(),
    end() {
      temporal.cut();
      temporal.restore();
    },
    says: /failed reaching server/,
  },
  {
    heading: "Namespace lost",
    begin: () => shell.run("export TEMPORAL_NAMESPACE=lost"),
    end: () => shell.run('export TEMPORAL_NAMESPACE="$MEGURI_TEMPORAL_NAMESPACE"'),
    says: /lost/,
  },
];

test.each(faults)("$heading is confirmed in the fault", async ({ heading, begin, end, says }) => {
  await begin();
  try {
    // The list of workflows lags behind.
    await eventually(async () => {
      const said: string[] = [];
      for (const command of confirming(heading)) {
        said.push(await run(command).catch((error: Error) => error.message));
      }
      expect(said.join("\n")).toMatch(says);
    });
  } finally {
    await end();
  }
});
