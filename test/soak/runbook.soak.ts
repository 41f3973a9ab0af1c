/**
 * Runs the commands of docs/run/runbook.md, against a server and a worker, and those that confirm a
 * fault in a fault.
 */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BulkGrant_State as BulkGrantState } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { monthEndId } from "../../src/points/contract/month-ends.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { findTemporalCli } from "../../tools/dev/stack/temporal-cli.ts";
import { approve, submit, usersOf } from "../support/fixtures/bulk-grants.ts";
import { reserveAndBegin } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { codeBlocks, onPorts, projectRoot, type Shell, startShell } from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startTcpProxy, type TcpProxy } from "../support/servers/tcp-proxy.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { changeItem } from "../support/stores/change-item.ts";

let stack: WorkerStack;
let server: TestServer;
let shell: Shell;
let temporal: TcpProxy;
beforeAll(async () => {
  // A campaign of some minutes: one that is stopped has not ended, whatever a command takes.
  const env = { MEGURI_BULK_ROWS_PER_SECOND: "1" };
  stack = await startWorkerStack({ store: "proxied dynamodb", env });
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
  await shell.run(codeBlocks("docs/run/runbook.md")[0]?.code ?? "");
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

const page = readFileSync(`${projectRoot}docs/run/runbook.md`, "utf8");

/** The text below each heading. */
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.split("\n", 1)[0] ?? "", text]),
);

/** The commands below a heading: those that confirm the fault, and those of what to do. */
function commandsOf(heading: string): { readonly confirm: string[]; readonly act: string[] } {
  const [confirm = "", act = ""] = sections.get(heading)?.split("**Do") ?? [];
  const linesOf = (text: string) =>
    [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, code = ""]) =>
      code.trimEnd().split("\n"),
    );
  return { confirm: linesOf(confirm), act: linesOf(act) };
}

interface Fault {
  readonly heading: string;
  readonly begin: () => unknown;
  readonly end?: () => unknown;
  /** The output of the commands that confirm the fault, while it lasts. */
  readonly says?: RegExp;
  /** The names of the fault, for those that the page has as examples. */
  readonly names?: Readonly<Record<string, string>>;
  /** Whether the commands of what to do are run in the fault, too. Each of them must succeed. */
  readonly acts?: boolean;
}

const campaign = { spring: "flood" };
const members = usersOf("flood", 600);

/** Submits the rows of a campaign, and waits until it can be approved. */
async function submitCampaign(id: string, userIds: readonly string[]) {
  const bulkGrant = await submit(stack.deps, "default", { id, userIds });
  await eventually(async () => {
    const found = await server.bulkGrants.getBulkGrant({ bulkGrantId: id });
    expect(found.bulkGrant?.state).toBe(BulkGrantState.AWAITING_APPROVAL);
  });
  return bulkGrant;
}

/** Changes a user's balance behind the ledger. */
const damage = (userId: string) =>
  changeItem(
    stack.clients.retrying,
    `${stack.config.tablePrefix}accounts`,
    { pk: { S: `A#default#${userId}` }, sk: { S: "A" } },
    (item) => ({ ...item, v: { N: String(Number(item.v?.N) + 1) }, s: { L: [{ N: "7" }] } }),
  );

const monthEnd = () => stack.client.schedule.getHandle(monthEndId("default"));

/** The faults, in their order. */
const faults: readonly Fault[] = [
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
    heading: "Store refuses",
    begin: () => stack.proxy.refuse("AccessDeniedException"),
    end: () => stack.proxy.refuse(undefined),
    says: /STORE_REFUSES.*AccessDeniedException/s,
  },
  {
    heading: "Store throttles",
    async begin() {
      await approve(stack.deps, await submitCampaign("flood", members));
      stack.proxy.faults({ throttle: 0.2, operations: ["TransactWriteItems"] });
    },
    end: () => stack.proxy.faults({}),
    names: campaign,
    acts: true,
  },
  {
    heading: "One hot account",
    async begin() {
      const { points } = server.clientsOf("hot-service");
      const grantOne = (n: number) =>
        points.grantPoints({ userId: "hot", eventId: `e-${n}`, points: 1n });
      await Promise.all(Array.from({ length: 40 }, (_, n) => grantOne(n)));
    },
    names: { alice: "hot" },
    says: /hot-service/,
    acts: true,
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
  {
    heading: "Wrong grant",
    begin: () => server.points.grantPoints({ userId: "mika", eventId: "order-17", points: 1_000n }),
    async end() {
      const { balance } = await server.points.getBalance({ userId: "mika" });
      expect(balance?.availablePoints).toBe(0n);
    },
    names: { alice: "mika" },
    says: /"order-17"/,
    acts: true,
  },
  {
    // It goes on to run since its store was throttled.
    heading: "Wrong campaign",
    begin: () => {},
    names: campaign,
    says: /RUNNING/,
    acts: true,
  },
  {
    heading: "Waits for people",
    begin: () => submitCampaign("autumn", ["alice"]),
    names: { spring: "autumn" },
    says: /autumn.*AWAITING_APPROVAL/s,
  },
  {
    heading: "Export or liability report stands still",
    async begin() {
      stack.proxy.refuse("AccessDeniedException", ["Scan"]);
      await shell.run("meguri liability create stuck");
    },
    end: () => stack.proxy.refuse(undefined),
    says: /Running\s+\S+\/stuck\s+liabilityReport.*stuck\s+RUNNING/s,
  },
  {
    heading: "Schedules missing",
    begin: () => monthEnd().delete(),
    end: () => ensureSchedules(stack.workflows, stack.deps.reader),
    says: /^(?!.*month-end\/default).*reconcile-reservations/s,
  },
  {
    heading: "Month end missed",
    begin: () => monthEnd().pause(),
    async end() {
      const { state, info } = await monthEnd().describe();
      expect(state.paused).toBe(false);
      expect(info.recentActions.length + info.runningActions.length).toBeGreaterThan(0);
    },
    says: /paused"?:?\s+true/i,
    acts: true,
  },
  {
    heading: "Ledger in doubt",
    begin: () => damage("alice"),
    end: () => shell.run("meguri verify alice --repair"),
    says: /status 1 of meguri verify alice/,
  },
];

test.each(faults)("$heading is confirmed in the fault", async (fault) => {
  const { heading, begin, end = () => {}, says = /(?:)/, names = {}, acts = false } = fault;
  const { confirm, act } = commandsOf(heading);
  if (fault.says) expect(confirm).not.toEqual([]);
  if (acts) expect(act).not.toEqual([]);
  const named = (command: string) =>
    Object.entries(names).reduce((text, [from, to]) => text.replaceAll(from, to), command);
  await begin();
  try {
    // The list of workflows lags behind.
    await eventually(async () => {
      const said: string[] = [];
      for (const command of confirm) {
        said.push(await run(named(command)).catch((error: Error) => error.message));
      }
      expect(said.join("\n")).toMatch(says);
    });
    if (acts) for (const command of act) await run(named(command));
  } finally {
    await end();
  }
});

/** The headings whose commands are not run in their fault, and why. */
const notInFault: Readonly<Record<string, string>> = {
  Errors: "Prometheus confirms it, in test/soak/alerts.soak.ts",
  "Wrong tables": "processes that end confirm it, in test/temporal/installation.check.ts",
  "Reports fail": "Prometheus and a log confirm it; its commands list what any list has",
  "Keys old": "Prometheus confirms it, in test/soak/missed-work-alerts.soak.ts",
  "Events not written": "Prometheus confirms it, in test/soak/event-alerts.soak.ts",
  "Events behind": "Prometheus confirms it, in test/soak/event-alerts.soak.ts",
  "Event gap": "Prometheus confirms it, in test/soak/event-alerts.soak.ts",
  "Event unreadable": "Prometheus confirms it, in test/soak/event-alerts.soak.ts",
  "Subscription behind": "Prometheus confirms it, in test/soak/event-alerts.soak.ts",
  "Subscription paused": "Prometheus confirms it, in test/soak/event-alerts.soak.ts",
  "Certificate ends": "Prometheus confirms it, and there is no command",
  Restore: "test/soak/restore-drill.soak.ts plays it",
};

test("every heading has a fault, or a reason for none", () => {
  const known = new Set([...faults.map(({ heading }) => heading), ...Object.keys(notInFault)]);
  expect([...known].sort()).toEqual([...sections.keys()].sort());
});
