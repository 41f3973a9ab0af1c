/** Runs the installed command as processes: exit codes, Ctrl-C, a reader that leaves, and Bash. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";
import { installedCommand as command, typeInTerminal } from "../support/servers/cli.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.points.grantPoints({ userId: "alice", eventId: "e", points: 120n });
});
afterAll(() => server.stop());

const env = () => ({ ...process.env, MEGURI_URL: `http://127.0.0.1:${server.port}` });

/** Runs it in a pipe. */
async function run(file: string, args: readonly string[], variables = env()) {
  const child = execFile(file, args, { cwd: projectRoot, env: variables });
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (text) => (stdout += text));
  child.stderr?.on("data", (text) => (stderr += text));
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

const meguri = (...args: string[]) => run(process.execPath, [command, ...args]);

/** An address at which nothing listens. */
async function deadAddress(): Promise<string> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  listener.close();
  await once(listener, "close");
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

test("results go to standard output", async () => {
  const { code, stdout, stderr } = await meguri("balance", "alice", "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ balance: { availablePoints: "120" } });
});

test("without an answer the message says how to repeat the call", async () => {
  const dead = ["--url", await deadAddress(), "--timeout", "1"];
  const { code, stdout, stderr } = await meguri("grant", "alice", "1", ...dead);
  expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
  const [, id] = stderr.match(/^event-id (\S+)$/m) ?? [];
  expect(stderr).toContain(`Repeat the command with --event-id ${id}`);
});

test("without an answer a dry run is known to have changed nothing", async () => {
  const hold = ["hold", "create", "alice", "1", "--until", "+1h", "--dry-run"];
  const { code, stderr } = await meguri(...hold, "--url", await deadAddress(), "--timeout", "1");
  expect(code).toBe(5);
  expect(stderr).toContain("The same command can be repeated: nothing is done twice.");
});

test("Ctrl-C on a terminal ends a watch", async () => {
  const watch = ["notifications", "alice", "--watch"];
  const { code, printed } = await typeInTerminal(watch, env(), /\n\d{4}-.*\n/, "\u0003");
  expect(code).toBe(130);
  expect(printed).toMatch(/^time +actors.*\n\d{4}-\S+ +0 +0 +0 +0\n(\^C)*$/);
});

test("a reader that leaves ends the command quietly", async () => {
  const pipe = `"${process.execPath}" "${command}" ledger alice | true`;
  const ended = await run("bash", ["-c", `set -o pipefail; ${pipe}`]);
  expect(ended).toEqual({ code: 0, stdout: "", stderr: "" });
});

test.skipIf(!existsSync("/dev/full"))("a full disk is said in a line", async () => {
  const ended = await run("bash", [
    "-c",
    `"${process.execPath}" "${command}" ledger alice >/dev/full`,
  ]);
  expect([ended.code, ended.stderr]).toEqual([
    5,
    expect.stringMatching(/^meguri: OUTPUT_FAILED: cannot write the result: ENOSPC[^\n]*\n$/),
  ]);
});

test("a change is made without a reader of messages", async () => {
  const grant = `"${process.execPath}" "${command}" grant bob 7 2> >(true)`;
  const ended = await run("bash", ["-c", `${grant} | cat`]);
  expect(ended.stdout).toMatch(/^granted 7 points to bob \(event \S+\), balance 7\n$/);
});

test.each(["20.1.0", "22.11.0"])("Node %s gets a sentence instead of an error", async (version) => {
  const older = `Object.defineProperty(process, "versions", { value: { node: "${version}" } })`;
  const args = ["--import", `data:text/javascript,${encodeURIComponent(older)}`, command];
  expect(await run(process.execPath, args)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^meguri: needs Node 22\.12 or newer, and this is v/),
  });
});

/** Completes lines in one Bash, as its Tab key does. */
async function completions(...lines: string[]): Promise<string[]> {
  const bash = spawn("bash", [], { cwd: projectRoot, env: env() });
  let printed = "";
  bash.stdout.on("data", (text) => (printed += text));
  bash.stdin.end(`
    meguri() { "${process.execPath}" "${command}" "$@"; }
    source <(meguri completion bash)
    complete_line() {
      COMP_LINE=$1 COMP_POINT=\${#1} COMPREPLY=()
      read -ra COMP_WORDS <<< "$1"
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
      _meguri_completion
      echo "\${COMPREPLY[*]}"
    }
    ${lines.map((line) => `complete_line '${line}'`).join("\n")}
  `);
  await once(bash, "close");
  return printed.trimEnd().split("\n");
}

const hasBash = (await run("bash", ["--version"], process.env as never)).code === 0;

test.skipIf(!hasBash)("Bash completes a line by the script", async () => {
  expect(await completions("meguri bulk re")).toEqual(["reject retry resume reverse"]);
});
