/**
 * Runs docs/tutorial.md as a reader does: one shell runs every `sh` block in order, against a
 * server with a real store, a real Temporal and a worker. The `json` block after a command is its
 * answer.
 */
import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/fixtures/waiting.ts";
import {
  asPrinted,
  type CodeBlock,
  codeBlocks,
  fetchProtos,
  onPorts,
  projectRoot,
  type Shell,
  startShell,
} from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

interface Step {
  readonly command: CodeBlock;
  /** Absent where a command answers nothing. */
  readonly answer: CodeBlock | undefined;
}

const steps = readSteps(codeBlocks("docs/tutorial.md"));

let stack: WorkerStack;
let server: TestServer;
let shell: Shell;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "dynamodb" });
  const { tablePrefix } = stack.config;
  server = await startServer({ tablePrefix, workflows: stack.workflows, testClock: false });
  await server.programs.createProgram({ programId: "default" });
  await fetchProtos();
  shell = startShell();
});
afterAll(async () => {
  await shell?.close();
  await server?.stop();
  await stack?.stop();
});

/** Pairs every command with the answer after it. An answer without a command is an error. */
function readSteps(blocks: readonly CodeBlock[]): Step[] {
  const commands = blocks.filter(({ language }) => language === "sh");
  const read = commands.map((command) => {
    const next = blocks[blocks.indexOf(command) + 1];
    return { command, answer: next?.language === "json" ? next : undefined };
  });
  const used = read.flatMap(({ command, answer }) => (answer ? [command, answer] : [command]));
  if (used.length === blocks.length) return read;
  const unused = blocks.filter((block) => !used.includes(block)).map(({ line }) => line);
  throw new Error(`docs/tutorial.md has code that no test runs, at ${unused.join(", ")}`);
}

/** Compares the output of a command with the answer that the tutorial prints. */
function compare(output: string, answer: CodeBlock | undefined): void {
  if (!answer) {
    expect(output).toBe("");
    return;
  }
  const printed: unknown = JSON.parse(answer.code);
  expect(asPrinted(JSON.parse(output), printed)).toEqual(printed);
}

async function play({ command, answer }: Step): Promise<void> {
  const code = onPorts(command.code, server);
  if (command.name === "stream") return compare(await firstMessage(code), answer);
  if (command.name === "eventually") {
    return eventually(async () => compare(await shell.run(code), answer));
  }
  compare(await shell.run(code), answer);
}

/** Runs a command that does not end by itself, until it has printed a whole message. */
async function firstMessage(code: string): Promise<string> {
  const child = spawn("sh", ["-c", code], { cwd: projectRoot, detached: true, stdio: "pipe" });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let printed = "";
  let errors = "";
  child.stdout.on("data", (data: Buffer) => {
    printed += data;
    if (isJson(printed)) resolve(printed);
  });
  child.stderr.on("data", (data: Buffer) => {
    errors += data;
  });
  child.once("close", () => reject(new Error(`ended early: ${printed}${errors}`)));
  try {
    return await promise;
  } finally {
    // Kills the process group: `npx` and the processes that it started.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("the tutorial calls every service", () => {
  const code = steps.map(({ command }) => command.code).join("\n");
  const services = ["points", "reservations", "bulkgrants", "reactions", "notifications"];
  for (const service of services) {
    expect(code).toContain(`${service}.v1.`);
  }
  expect(steps.filter(({ answer }) => !answer)).toHaveLength(1);
});

test("every call of the tutorial answers what is printed", async () => {
  for (const step of steps) {
    try {
      await play(step);
    } catch (error) {
      const { line, code } = step.command;
      throw new Error(`docs/tutorial.md:${line}\n${code}${(error as Error).message}`, {
        cause: error,
      });
    }
  }
});
