/** Tests the commands that send a sheet: its options, workbooks, and what was understood. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../../packages/cli/src/run.ts";
import { inlineRows, workbookOf } from "../support/fixtures/workbooks.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
let folder: string;
beforeAll(async () => {
  server = await startMemoryServer();
  folder = await mkdtemp(join(tmpdir(), "meguri-sheets-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await server.stop();
});

/** Runs a command of bulk grants over a file with this content. */
async function meguri(command: string, id: string, bytes: Uint8Array, ...options: string[]) {
  const file = join(folder, `${id}-${command}`);
  await writeFile(file, bytes);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  const env = { MEGURI_URL: `http://127.0.0.1:${server.port}`, MEGURI_CALLER: "rin" };
  const io = { stdin: new PassThrough(), stdout, stderr, env, signal };
  const code = await run(["bulk", command, id, file, ...options], io);
  return { code, stderr: `${stderr.read() ?? ""}` };
}

test("check, submit and digest read a sheet in the named encoding, without rows of 0", async () => {
  const csv = Buffer.from("user_id,points,reason\nu1,5,caf\xe9\nu2,0,\n", "latin1");
  const options = ["--encoding", "windows-1252", "--skip-zero"];
  const text =
    "read as CSV in Windows-1252 with commas: user_id, points, reason; " +
    "1 row of 0 points left out; line 2: 5 points to u1 for ‘café’";
  const unnamed = await meguri("check", "accents", csv);
  expect(unnamed.code).toBe(1);
  for (const command of ["check", "submit", "digest"]) {
    const { code, stderr } = await meguri(command, "accents", csv, ...options);
    expect(code, stderr).toBe(0);
    if (command !== "digest") expect(stderr).toContain(text);
  }
  const { code, stderr } = await meguri("submit", "other", csv, "--encoding", "latin9");
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining("encoding")]);
  expect(code).not.toBe(0);
});

test("a workbook is submitted as it is, and has no encoding to name", async () => {
  const rows = inlineRows(["user_id", "points"], ["u1", "5"]);
  const sheets = '<sheet name="付与" r:id="rId1"/><sheet name="先月" r:id="rId2"/>';
  const bytes = workbookOf({ rows, sheets });
  const { code, stderr } = await meguri("submit", "book", bytes);
  expect(code, stderr).toBe(0);
  expect(stderr).toContain(
    "read as XLSX, sheet 付与: user_id, points; not read: 1 other sheet; line 2: 5 points to u1",
  );
  const named = await meguri("submit", "book", bytes, "--encoding", "utf-8");
  expect(named.code).toBe(1);
  expect(named.stderr).toContain("has no encoding to name; leave it out");
});
