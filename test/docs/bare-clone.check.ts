/**
 * Plays the pages for strangers in a bare clone, against one `npm run dev`: each command runs as it
 * is printed, and its answer is compared with the printed one.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { findTemporalCli } from "../../tools/dev/stack/temporal-cli.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import {
  asPrinted,
  type CodeBlock,
  codeBlocks,
  codeNamed,
  onPorts,
  type Ports,
  startShell,
} from "../support/markdown.ts";
import {
  type BareClone,
  makeBareClone,
  type RunningCommand,
} from "../support/servers/bare-clone.ts";
import { findGrpcurl } from "../support/servers/grpcurl.ts";

let clone: BareClone;
let dev: RunningCommand;
let ports: Ports;
let temporalAddress: string;
beforeAll(async () => {
  clone = await makeBareClone();
  for (const folder of ["nightly", "exports"]) await mkdir(join(clone.folder, folder));
  await writeFile(join(clone.folder, "sources.json"), local(codeNamed(batchJobs, "sources")));
  const { destinations } = JSON.parse(local(codeNamed("docs/run/reports.md", "destinations")));
  const folders = destinations.filter(({ type }: { type: string }) => type === "folder");
  const exports = JSON.stringify({ destinations: folders });
  await writeFile(join(clone.folder, "exports.json"), exports);
  await startDev("npm run dev", {
    MEGURI_BULK_SOURCES: "sources.json",
    MEGURI_EXPORT_DESTINATIONS: "exports.json",
    MEGURI_CORS_ORIGINS: staffOrigin,
  });
});
afterAll(async () => {
  await dev?.stop();
  await clone?.remove();
});

const batchJobs = "docs/call/batch-jobs.md";
const staffOrigin = "https://staff.example";

/** Starts a stack on ports that no other test has. */
async function startDev(command: string, env: NodeJS.ProcessEnv): Promise<void> {
  const anyPort = { MEGURI_PORT: "0", MEGURI_HTTP1_PORT: "0", MEGURI_METRICS_PORT: "0" };
  dev = clone.start(command, { ...env, ...anyPort, MEGURI_DRAIN_SECONDS: "1" });
  const [, address = ""] = await dev.says(/ Temporal at ([\w.:]+)/);
  const [, port, http1Port] = await dev.says(/gRPC and Connect at \S+:(\d+), HTTP\/1.1 on (\d+)/);
  await dev.says(/all of it runs/);
  ports = { port: Number(port), http1Port: Number(http1Port) };
  temporalAddress = address;
}

/** The code with the folders and ports of this test. */
const local = (code: string): string =>
  (ports ? onPorts(code, ports) : code)
    .replaceAll("/data/nightly", join(clone.folder, "nightly"))
    .replaceAll("/var/exports", join(clone.folder, "exports"))
    .replaceAll("/tmp/$1", `${clone.folder}/$1`);

/** A reader's terminal, which ends with the test. */
function openTerminal() {
  const shell = startShell({ cwd: clone.folder, env: clone.env });
  onTestFinished(() => shell.close());
  return { run: (code: string) => shell.run(local(code)) };
}

const isAnswer = ({ language }: CodeBlock) => ["json", "text", ""].includes(language);

/** The commands of a page, each with the answer that is printed after it. */
function stepsOf(page: string) {
  const blocks = codeBlocks(page);
  return blocks.flatMap((command, i) => {
    const next = blocks[i + 1];
    if (command.language !== "sh") return [];
    return [{ command, answer: next && isAnswer(next) ? next : undefined }];
  });
}

function compare(output: string, answer: CodeBlock): void {
  if (answer.language !== "json") {
    expect(output.trim()).toBe(answer.code.trim());
    return;
  }
  const printed: unknown = JSON.parse(answer.code);
  expect(asPrinted(JSON.parse(output), printed)).toEqual(printed);
}

/** The code of a program on a page, in a file of the clone. */
async function saveCode(page: string, name: string, file: string): Promise<void> {
  await writeFile(join(clone.folder, file), local(codeNamed(page, name)));
}

test("README.md", async () => {
  const { run } = openTerminal();
  const call = async (name: string) => JSON.parse(await run(codeNamed("README.md", name)));
  const granted = { entry: { number: "1", points: "120" }, availablePoints: "120" };
  const first = await call("curl");
  expect(first).toMatchObject(granted);
  expect(first.replayed).toBeUndefined();
  expect(await call("buf")).toMatchObject({ ...granted, replayed: true });
  await saveCode("README.md", "client", "first.ts");
  expect(await run("npx node first.ts")).toBe("80 used, 40 left, replayed: false\n");
  await run(`export MEGURI_URL=http://127.0.0.1:${ports.port}`);
  expect(await run("npx meguri balance alice")).toMatch(/^available\t40\n/);
});

test("docs/call/tutorial.md", async () => {
  const { run } = openTerminal();
  const steps = stepsOf("docs/call/tutorial.md");
  const code = steps.map(({ command }) => command.code).join("");
  for (const service of ["points", "reservations", "bulkgrants", "reactions", "notifications"]) {
    expect(code).toContain(`${service}.v1.`);
  }
  for (const { command, answer } of steps) {
    const printed =
      command.name === "stream" ? await firstMessage(command) : await run(command.code);
    try {
      if (answer) compare(printed, answer);
      else expect(printed).toBe("");
    } catch (error) {
      const { message } = error as Error;
      const step = `docs/call/tutorial.md:${command.line}\n${command.code}`;
      throw new Error(step + message, { cause: error });
    }
  }
});

/** The first message of a command that does not end by itself. */
async function firstMessage({ code }: CodeBlock): Promise<string> {
  const stream = clone.start(local(code));
  try {
    return (await stream.says(/^\{\n.*^\}\n/ms))[0];
  } finally {
    await stream.stop();
  }
}

test("docs/call/clients.md and the READMEs of the packages", async () => {
  const page = "docs/call/clients.md";
  const { run } = openTerminal();
  // The soak of the packages installs what this builds, as the first commands of the pages do.
  expect(await run("npm run build:packages")).toContain("meguri-client-0.1.0.tgz");
  await saveCode(page, "typescript", "example.ts");
  const printed = "120 points, replayed: false\nonly 120 points\n";
  expect(await run("npx node example.ts")).toBe(printed);
  await saveCode("packages/client/README.md", "client", "readme.ts");
  expect(await run("npx node readme.ts")).toBe("granted\n");

  const curl = JSON.parse(await run(codeNamed(page, "curl")));
  expect(curl).toMatchObject({ availablePoints: "120" });
  const grpcurl = await findGrpcurl();
  if (grpcurl === undefined) return;
  await run(`PATH="$PATH:${dirname(grpcurl)}"`);
  const repeated = JSON.parse(await run(codeNamed(page, "grpcurl")));
  expect(repeated).toMatchObject({ availablePoints: "120", replayed: true });
});

test("docs/call/cli.md", async () => {
  const page = "docs/call/cli.md";
  const { run } = openTerminal();
  // As `npx` does it, which takes a second for each command.
  await run('PATH="$PWD/node_modules/.bin:$PATH"');
  const steps = stepsOf(page).filter(({ command }) => !command.code.includes("completion"));
  const printed: string[] = [];
  for (const { command, answer } of steps) {
    // "Somebody else approves": the page says it of a bulk grant that awaits approval.
    if (command.code.includes("bulk approve")) {
      await eventually(async () =>
        expect(await run("meguri bulk list --state AWAITING_APPROVAL")).toContain("spring"),
      );
    }
    const output = await run(command.code);
    if (answer) compare(output, answer);
    printed.push(output);
  }
  const [doctor, , reserved = "", until, , requested, submitted, approved] = printed;
  expect(doctor).not.toContain("FAILED");
  const [reservation, entry = "", available] = reserved.trim().split("\n");
  expect(reservation).toMatch(/^PENDING: 50 points for hana at .* \(reservation xmas-hana\)$/);
  expect(JSON.parse(entry)).toMatchObject({ caller: { service: "mika" } });
  expect(available).toBe("120");
  expect(until).toBe("granted 120 points to hana (event order-19), balance 240\n");
  const manifest = join(clone.folder, "exports/default/2026-10/manifest.json");
  expect(JSON.parse(await readFile(manifest, "utf8"))).toMatchObject({ parts: [] });
  expect(requested).toContain("Grant 500 points to aoi");
  expect(submitted).toBe("spring: VALIDATING, revision 1, 2 rows, 150 points\n");
  expect(approved).toContain("all granted");
});

test("docs/call/retrying.md", async () => {
  await saveCode("docs/call/retrying.md", "submit", "retry.ts");
  const { run } = openTerminal();
  expect(await run("npx node retry.ts")).toBe("120 points, replayed: false\n");
});

test("docs/call/batch-jobs.md", async () => {
  const { run } = openTerminal();
  await run(`PATH="$PATH:${dirname(await findTemporalCli())}"`);
  await run(`export TEMPORAL_ADDRESS=${temporalAddress}`);
  await run(stepsOf("docs/call/tutorial.md")[0]?.command.code ?? "");
  const printed: string[] = [];
  for (const { command } of stepsOf(batchJobs)) {
    // "When the file has come, run that day again."
    if (command.code.includes("schedule backfill")) await writeSheet("2026-11-02", "chie,10");
    printed.push(await run(command.code));
  }
  const [created = "", , , granted, , , uploaded = "", submitted = ""] = printed;
  expect(JSON.parse(created)).toMatchObject({ program: { programId: "daily" } });
  expect(granted).toMatch(/"state": ?"DONE"/);
  const result = await readFile(join(clone.folder, "nightly-2026-12-01.json"), "utf8");
  const answer = codeBlocks(batchJobs).findLast(({ name }) => name === "");
  expect(JSON.parse(result).result).toEqual(JSON.parse(answer?.code ?? ""));
  const submitter = { subject: "nightly-batch" };
  expect(JSON.parse(uploaded)).toMatchObject({ state: "STATE_DONE", submitter });
  const summer = { bulkGrantId: "summer", title: "夏のキャンペーン", totalPoints: "150" };
  expect(JSON.parse(submitted)).toMatchObject({ bulkGrant: summer, revision: 1 });

  expect(await run("grant_from_source nightly-2026-12-01 nightly/2026-12-01.csv")).toBe(granted);
  await expect(run("grant_from_source none nightly/none.csv")).rejects.toThrow("status 1");
  await writeSheet("wrong", "aoi,abc");
  await expect(run("grant_from_source wrong nightly/wrong.csv")).rejects.toThrow("status 1");
  expect(await readFile(join(clone.folder, "wrong.json"), "utf8")).toContain('"INVALID"');
  await eventually(async () => {
    const name = '\'{"programId": "daily", "bulkGrantId": "points-2026-11-02"}\'';
    const backfilled = await run(`call bulkgrants.v1.BulkGrantService/GetBulkGrant ${name}`);
    expect(JSON.parse(backfilled)).toMatchObject({ bulkGrant: { state: "STATE_DONE" } });
  });
});

const writeSheet = (name: string, row: string) =>
  writeFile(join(clone.folder, "nightly", `${name}.csv`), `user_id,points\n${row}\n`);

test("the browser's code of docs/call/batch-jobs.md submits rows and shows refusals", async () => {
  const fetchOf = (url: string, { headers, ...request }: RequestInit) => {
    const caller = { origin: staffOrigin, "meguri-caller": "page" };
    return fetch(url, { ...request, headers: { ...(headers as object), ...caller } });
  };
  const code = `${codeNamed(batchJobs, "browser")}; return submitRows;`;
  const submitRows = new Function("fetch", code)(fetchOf);
  const url = `http://127.0.0.1:${ports.http1Port}`;
  const rows = [{ userId: "aoi", points: 5 }];
  expect(await submitRows(url, "token", "by-page", "頁", rows)).toMatchObject({
    bulkGrant: { bulkGrantId: "by-page", title: "頁", submitter: { service: "page" } },
  });
  await expect(submitRows(url, "token", "by#page", "", rows)).rejects.toThrow("bulk_grant_id");
});

test("docs/call/notifications.md", async () => {
  const page = "docs/call/notifications.md";
  await dev.stop();
  const [port] = await findPorts(0);
  const onPort = (name: string) => codeNamed(page, name).replaceAll("3000", String(port));
  await startDev(onPort("feed"), {});
  const serving = clone.start(local(onPort("serve")));
  try {
    const [url] = await serving.says(/http:\S+person=\S+/);
    expect(await (await fetch(url)).text()).toContain("<title>");
  } finally {
    await serving.stop();
  }
});
