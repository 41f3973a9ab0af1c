/**
 * Runs docs/batch-jobs.md as a reader does: one shell runs its commands in order, with the Temporal
 * CLI, against a server and a worker process that has the page's source.
 */
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSourceDefinitions } from "../../src/adapters/sources/definitions.ts";
import type { Child } from "../../src/dev/stack/child.ts";
import { findTemporalCli } from "../../src/dev/stack/temporal-cli.ts";
import { BulkGrant_State as State } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
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

const page = "docs/batch-jobs.md";

let folder: string;
let stack: WorkerStack;
let worker: Child;
let server: TestServer;
let shell: Shell;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-batch-jobs-"));
  await mkdir(join(folder, "nightly"));
  const sources = join(folder, "sources.json");
  await writeFile(sources, local(codeNamed(page, "sources")));
  stack = await startWorkerStack({ store: "dynamodb", worker: false });
  const { tablePrefix, temporalAddress, temporalNamespace } = stack.config;
  const env = { MEGURI_BULK_SOURCES: sources, MEGURI_CORS_ORIGINS: "https://staff.example" };
  server = await startServer({ tablePrefix, workflows: stack.workflows, testClock: false, env });
  // The approved rules are in force at once, and not after an hour.
  const bulkRules = { loweringDelay: { seconds: 0n } };
  await server.programs.createProgram({ programId: "default", bulkRules });
  worker = await stack.startWorkerProcess({ MEGURI_BULK_SOURCES: sources });
  shell = startShell();
  await shell.run(`export PATH="$PATH:${dirname(await findTemporalCli())}"`);
  await shell.run(`export TEMPORAL_ADDRESS=${temporalAddress}`);
  await shell.run(`export TEMPORAL_NAMESPACE=${temporalNamespace}`);
  await shell.run(onPorts(codeBlocks("docs/tutorial.md")[0]?.code ?? "", server));
});
afterAll(async () => {
  await shell?.close();
  await worker?.stop();
  await server?.stop();
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The code with the folders of this test. */
const local = (code: string) =>
  code.replaceAll("/data/nightly", join(folder, "nightly")).replaceAll("/tmp/$1", `${folder}/$1`);

/** Runs the command of the page that contains this text. */
function runWith(text: string): Promise<string> {
  const found = codeBlocks(page).find(({ name, code }) => name === "run" && code.includes(text));
  if (!found) throw new Error(`${page} has no command with ${text}`);
  const queue = `--task-queue ${stack.config.taskQueue}`;
  return shell.run(local(onPorts(found.code, server)).replaceAll("--task-queue meguri", queue));
}

const balanceOf = async (userId: string) =>
  (await server.points.getBalance({ userId })).balance?.availablePoints;

test("the page shows the code of the example", () => {
  const file = readFileSync(`${projectRoot}examples/upload-sheet.ts`, "utf8");
  expect(codeNamed(page, "upload")).toBe(file);
});

test("the sources of the page can be read", () => {
  expect(readSourceDefinitions(join(folder, "sources.json"))).toHaveLength(1);
});

test("every command of the page is in this test", () => {
  const names = codeBlocks(page).filter(({ language }) => language === "sh");
  expect(names.map(({ name }) => name)).toEqual(Array(9).fill("run"));
});

test("the commands grant each row once", async () => {
  const proposed = JSON.parse(await runWith("UpdateProgram"));
  const { digest } = proposed.program.bulkRulesChange;
  const { programs } = server.clientsOf("mika");
  const { program } = await programs.approveBulkRules({ programId: "default", digest });
  expect(program?.bulkRules?.tiers).toMatchObject([
    { maxTotalPoints: 20_000n, requiredApprovalCount: 0 },
  ]);
  await runWith("2026-12-01.part");
  expect(await runWith("grant_from_source() {")).toBe("");

  const done = /"state": ?"DONE"/;
  expect(await runWith("grant_from_source nightly-")).toMatch(done);
  expect(await runWith("grant_from_source nightly-")).toMatch(done);
  expect([await balanceOf("aoi"), await balanceOf("ben")]).toEqual([100n, 50n]);
  const printed = JSON.parse(
    codeBlocks(page)
      .filter(({ name }) => name === "")
      .at(-1)?.code ?? "",
  );
  const { result } = JSON.parse(readFileSync(join(folder, "nightly-2026-12-01.json"), "utf8"));
  expect(result).toEqual(printed);
});

test("a file that is missing or wrong is exit code 1", async () => {
  await expect(shell.run("grant_from_source none nightly/none.csv")).rejects.toThrow("status 1");
  await writeFile(join(folder, "nightly/wrong.csv"), "user_id,points\naoi,abc\n");
  await expect(shell.run("grant_from_source wrong nightly/wrong.csv")).rejects.toThrow("status 1");
  const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId: "wrong" });
  expect(bulkGrant?.state).toBe(State.INVALID);
});

test("a backfill of the schedule grants the day in the zone of the program", async () => {
  await writeFile(join(folder, "nightly/2026-11-02.csv"), "user_id,points\nchie,10\n");
  await runWith("schedule create");
  await runWith("schedule backfill");
  await eventually(async () => {
    const name = { bulkGrantId: "points-2026-11-02" };
    const { bulkGrant } = await server.bulkGrants.getBulkGrant(name);
    expect(bulkGrant?.state).toBe(State.DONE);
  });
  expect(await balanceOf("chie")).toBe(10n);
});

test("the example uploads a sheet, and waits for its end", async () => {
  const before = await balanceOf("aoi");
  const printed = JSON.parse(await runWith("upload-sheet.ts"));
  expect(printed).toMatchObject({ state: "STATE_DONE", submitter: { subject: "nightly-batch" } });
  expect(await balanceOf("aoi")).toBe((before ?? 0n) + 100n);
});

test("one request submits a sheet, of which the file in a source is a replay", async () => {
  const first = JSON.parse(await runWith("/SubmitBulkGrant\n"));
  expect(first).toMatchObject({
    bulkGrant: { bulkGrantId: "summer", title: "夏のキャンペーン", totalPoints: "150" },
    revision: 1,
  });
  const again = JSON.parse(await runWith("SubmitBulkGrantFromSource"));
  expect(again).toMatchObject({
    bulkGrant: { bulkGrantId: "summer" },
    replayed: true,
    revision: 1,
  });
});

test("the page of a browser submits rows, and shows what is refused", async () => {
  const fetchOf = (url: string, { headers, ...request }: RequestInit) => {
    const caller = { origin: "https://staff.example", "meguri-caller": "page" };
    return fetch(url, { ...request, headers: { ...(headers as object), ...caller } });
  };
  const code = `${codeNamed(page, "browser")}; return submitRows;`;
  const submitRows = new Function("fetch", code)(fetchOf);
  const url = `http://127.0.0.1:${server.http1Port}`;
  const rows = [{ userId: "aoi", points: 5 }];
  expect(await submitRows(url, "token", "by-page", "頁", rows)).toMatchObject({
    bulkGrant: { bulkGrantId: "by-page", title: "頁", submitter: { service: "page" } },
  });
  await expect(submitRows(url, "token", "by page", "", rows)).rejects.toThrow("bulk_grant_id");
});
