/** Exports ledgers by the command, and searches the files, in a pipe and in a pseudo-terminal. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LedgerEntry_Type as Type } from "../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import type { ExportedEntry } from "../../src/gen/meguri/points/v1/ledger_export_pb.ts";
import { setTime } from "../../src/platform/work/test-clock.ts";
import { createExportFolder, type ExportFolderFixture } from "../support/fixtures/export-folder.ts";
import { fillLedgers } from "../support/fixtures/ledgers-to-export.ts";
import { type CommandLine, installedCommand, startCommandLine } from "../support/servers/cli.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let exports: ExportFolderFixture;
let stack: WorkerStack;
let server: TestServer;
let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "meguri-grep-"));
  exports = await createExportFolder(["shop"]);
  const { env } = exports;
  stack = await startWorkerStack({ programId: "shop", testClock: true, env });
  const { config, workflows, deps } = stack;
  await setTime(deps, Date.UTC(2026, 4, 10));
  await fillLedgers(stack, "shop", ["alice", "bob", "c$*'d"], "may");
  await setTime(deps, Date.UTC(2026, 5, 10));
  await fillLedgers(stack, "shop", ["alice", "bob"], "june");
  await setTime(deps, Date.UTC(2026, 6, 10));
  server = await startServer({ tablePrefix: config.tablePrefix, workflows, env });
});
afterAll(async () => {
  await server.stop();
  await stack.stop();
  await exports.delete();
  await rm(scratch, { recursive: true });
});

describe.each(["pipe", "terminal"] as const)("in a %s", (mode) => {
  let meguri: CommandLine;
  let folder: string;
  beforeAll(async () => {
    meguri = await startCommandLine(mode, { MEGURI_URL: `http://127.0.0.1:${server.port}` });
    folder = join(exports.path, "shop", mode);
    const times = ["--since", "2026-05-01T00:00Z", "--until", "2026-07-01T00:00Z"];
    const request = ["export", mode, "-p", "shop", "--to", "audit", ...times];
    const { code, stdout, stderr } = await meguri.run("ledger", ...request);
    expect({ code, text: stdout + stderr }).toMatchObject({
      code: 0,
      text: expect.stringContaining(`audit/shop/${mode}: DONE, 20 entries`),
    });
  });
  afterAll(() => meguri.close());

  async function grep(...argv: string[]) {
    const { code, stdout, stderr } = await meguri.run("ledger", "grep", ...argv);
    const text = mode === "terminal" ? stdout.replaceAll(/[\r\n]/g, "\n") : stdout;
    return { code, stdout: text, stderr, lines: text.split("\n").filter((line) => line !== "") };
  }

  test.each<[string[], (line: ExportedEntry) => boolean]>([
    [[], () => true],
    [["--user", "alice"], ({ userId }) => userId === "alice"],
    [["--user", "c$*'d"], ({ userId }) => userId === "c$*'d"],
    [["--event", "june-b"], ({ entry }) => entry?.event?.eventId === "june-b"],
    [["--reason", "für may"], ({ entry }) => entry?.reason.startsWith("für may") === true],
    [["--type", "USED"], ({ entry }) => entry?.type === Type.USED],
    [["--type", "USED", "ISSUED"], () => true],
    [["--type", "REVOKED"], () => false],
    [["--by", "tests"], () => true],
    [["--by", "test"], () => false],
    [["--since", "2026-06-10T00:00Z"], ({ entry }) => isOfJune(entry)],
    [["--until", "2026-06-10T00:00Z"], ({ entry }) => !isOfJune(entry)],
    [["--since", "2026-06-10T00:00:00.001Z"], () => false],
    [["--cause", "order-17"], () => false],
    [
      ["--user", "bob", "--type", "ISSUED", "--since", "2026-06-01T00:00Z"],
      ({ userId, entry }) => userId === "bob" && entry?.type === Type.ISSUED && isOfJune(entry),
    ],
  ])("%s", async (options, fits) => {
    const { entries, lines } = await exports.read(`shop/${mode}`);
    const expected = lines.filter((_, i) => fits(entries[i] as ExportedEntry));
    const { code, stdout, lines: found } = await grep(folder, ...options);
    expect(code).toBe(0);
    // A terminal of 120 columns does not break what is printed, so the lines are the same.
    expect(found).toEqual(expected);
    expect(stdout === "" || stdout.endsWith("\n")).toBe(true);
  });

  test("single files, gzip or not, and folders together", async () => {
    const { manifest, lines } = await exports.read(`shop/${mode}`);
    const part = join(folder, manifest.parts[0]?.name ?? "");
    const plain = join(scratch, `${mode}.jsonl`);
    const withCause = JSON.stringify({
      userId: "dave",
      entry: { type: "TYPE_HELD", createTime: "2026-05-10T00:00:00Z", cause: "order-17" },
    });
    const content = gunzipSync(await readFile(part)).toString();
    await writeFile(plain, `${content}${withCause}\n`);
    const ofPart = content.trimEnd().split("\n");
    expect((await grep(part)).lines).toEqual(ofPart);
    expect((await grep(plain, "--cause", "order-17")).lines).toEqual([withCause]);
    expect((await grep(folder, plain, part)).lines).toEqual([
      ...lines,
      ...ofPart,
      withCause,
      ...ofPart,
    ]);
  });

  test("lines of standard input, and a user with the name of a command", async () => {
    const { lines } = await exports.read(`shop/${mode}`);
    const command = `cat ${folder}/*.gz | gunzip | ${process.execPath} ${installedCommand}`;
    const { stdout } = await promisify(execFile)("sh", [
      "-c",
      `${command} ledger grep - --user alice`,
    ]);
    expect(stdout.trimEnd().split("\n").toSorted()).toEqual(
      lines.filter((line) => line.includes('"alice"')).toSorted(),
    );
    const listed = await meguri.run("ledger", "list", "grep", "-p", "shop");
    expect(listed.code).toBe(0);
  });

  test("an export that has failed says where the reason is", async () => {
    const id = `foreign-${mode}`;
    await mkdir(join(exports.path, "shop", id));
    await writeFile(join(exports.path, "shop", id, "manifest.json"), "{}");
    const request = [id, "-p", "shop", "--to", "audit", "--until", "2026-07-01T00:00Z"];
    const { code, stdout, stderr } = await meguri.run("ledger", "export", ...request);
    expect(code).toBe(1);
    const why = `FAILED, the run export-ledger/shop/${id} in Temporal says why`;
    expect(stdout + stderr).toContain(why);
  });

  test("what is damaged is no quiet result", async () => {
    const { manifest, lines } = await exports.read(`shop/${mode}`);
    const copy = join(scratch, `copy-${mode}`);
    await cp(folder, copy, { recursive: true });
    const failed = async (message: string, ...argv: string[]) => {
      const { code, stdout, stderr } = await grep(...argv);
      expect(code).toBe(2);
      expect(stdout + stderr).toContain(message);
    };
    const first = join(copy, manifest.parts[0]?.name ?? "");
    const whole = await readFile(first);
    await writeFile(first, gzipSync(`${lines[0]}\n`));
    await failed("not the file that the manifest lists", copy);
    await writeFile(first, whole.subarray(0, whole.length - 20));
    await failed("unexpected end of file", first);
    await writeFile(first, gzipSync(`${lines[0]}\n${lines[0]?.slice(0, 40)}`));
    await failed("the last line is cut off", first);
    await writeFile(first, gzipSync(`${lines[0]}\n{"userId":"x"}\n`));
    await failed("line 2 is no entry of an export", first);
    await writeFile(first, "text");
    await failed("incorrect header check", first);
    const changed = Buffer.from(`${lines[0]}\n`);
    changed[changed.indexOf("alice") + 2] = 0xff;
    const plain = join(scratch, `damaged-${mode}.jsonl`);
    for (const content of [changed, whole]) {
      await writeFile(plain, content);
      await failed("no text in UTF-8", plain);
    }
    await rm(first);
    await failed("no such file", copy);
    await failed("no such file", join(scratch, "none"));
    const escaping = { parts: [{ name: "../x.jsonl" }] };
    await writeFile(join(copy, "manifest.json"), JSON.stringify(escaping));
    await failed("a file of another folder", copy);
    await rm(join(copy, "manifest.json"));
    await failed("the export is not complete", copy);
    await mkdir(join(copy, "manifest.json"));
    await failed("manifest.json: EISDIR", copy);
  });
});

const isOfJune = (entry: ExportedEntry["entry"]): boolean =>
  entry?.event?.eventId.startsWith("june") === true;
