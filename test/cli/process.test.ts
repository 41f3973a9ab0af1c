/** Runs the installed command as processes: exit codes, Ctrl-C, a reader that leaves, and Bash. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { spawn as spawnPty } from "@lydell/node-pty";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";
import { plain } from "../support/servers/cli.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";

const folder = `${projectRoot}packages/cli/`;
const { bin } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
const command = `${folder}${bin.meguri}`;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
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

/** Runs it on a terminal, and types the keys once it has printed the text. */
async function typed(args: readonly string[], text: RegExp, keys: string) {
  const pty = spawnPty(process.execPath, [command, ...args], { cwd: projectRoot, env: env() });
  const exited = new Promise<number>((resolve) => {
    pty.onExit(({ exitCode }) => resolve(exitCode));
  });
  let code: number | undefined;
  onTestFinished(() => {
    if (code === undefined) pty.kill();
  });
  let printed = "";
  let isTyped = false;
  pty.onData((data) => {
    printed += data;
    if (isTyped || !text.test(plain(printed))) return;
    isTyped = true;
    pty.write(keys);
  });
  code = await exited;
  return { code, printed: plain(printed) };
}

test("Ctrl-C on a terminal ends a watch", async () => {
  const watch = ["notifications", "alice", "--watch"];
  const { code, printed } = await typed(watch, /\n\d{4}-.*\n/, "\u0003");
  expect(code).toBe(130);
  expect(printed).toMatch(/^time +actors.*\n\d{4}-\S+ +0 +0 +0 +0\n(\^C)*$/);
});

test.each([
  { answer: "no", keys: "n\n", code: 1 },
  { answer: "Ctrl-D", keys: "\u0004", code: 1 },
  { answer: "Ctrl-C", keys: "\u0003", code: 130 },
  { answer: "yes", keys: "y\n", code: 0 },
])("a question on a terminal is answered by $answer, and the command ends", async (typing) => {
  const userId = `asked-${typing.answer}`;
  const executeTime = timestampFromDate(new Date("2030-12-24T00:00Z"));
  const reservation = { userId, reservationId: userId, points: 30n, executeTime };
  await server.reservations.createReservation(reservation);
  const cancel = ["reservation", "cancel-many", "--user", userId];
  const { code, printed } = await typed(cancel, /\[y\/N\] $/, typing.keys);
  expect(code, printed).toBe(typing.code);
});

test("Ctrl-C on a terminal ends a sheet that is typed", async () => {
  const submit = ["bulk", "submit", "typed", "-"];
  const { code, printed } = await typed(submit, /Ctrl-D ends it/, "user_id,points\nalice\u0003");
  expect(code, printed).toBe(130);
});

test("a reader that leaves ends the command quietly", async () => {
  const pipe = `"${process.execPath}" "${command}" ledger alice | true`;
  const ended = await run("bash", ["-c", `set -o pipefail; ${pipe}`]);
  expect(ended).toEqual({ code: 0, stdout: "", stderr: "" });
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
  expect(await completions("meguri bulk re")).toEqual(["reject retry resume"]);
});
