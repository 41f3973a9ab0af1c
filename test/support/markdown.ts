/**
 * Reads the code blocks of the documentation, runs them in a shell as a reader does, and compares
 * printed answers with real ones.
 */
import {
  type ChildProcessWithoutNullStreams,
  execFile,
  type SpawnOptionsWithoutStdio,
  spawn,
} from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

/** The folder in which a reader runs the snippets. */
export const projectRoot = new URL("../..", import.meta.url).pathname;

/** One code block. */
export interface CodeBlock {
  /** What follows the opening fence, such as `sh`. */
  readonly language: string;
  readonly code: string;
  /** The name in `<!-- test: name -->` before the block; empty without one. */
  readonly name: string;
  /** The line of the opening fence, from 1. */
  readonly line: number;
}

/** The ports that the documentation prints are those of `npm run dev`. */
export interface Ports {
  readonly port: number;
  readonly http1Port: number;
}

/** All code blocks of a file, in its order. `file` is relative to the project. */
export function codeBlocks(file: string): CodeBlock[] {
  const text = readFileSync(`${projectRoot}${file}`, "utf8");
  const blocks = text.matchAll(/(?:<!-- test: (\w+) -->\n)?^```(\w*)\n(.*?)^```$/gms);
  return [...blocks].map(({ 0: whole, 1: name = "", 2: language = "", 3: code = "", index }) => {
    const before = text.slice(0, index + whole.indexOf("```"));
    return { language, code, name, line: before.split("\n").length };
  });
}

/** The code behind `<!-- test: name -->`. */
export function codeNamed(file: string, name: string): string {
  const found = codeBlocks(file).find((block) => block.name === name);
  if (!found) throw new Error(`${file} has no code named ${name}`);
  return found.code;
}

/** The code with the ports of a test's server. */
export function onPorts(code: string, { port, http1Port }: Ports): string {
  return code
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`)
    .replaceAll("127.0.0.1:8081", `127.0.0.1:${http1Port}`);
}

/** Fetches the protos that ours import, as `npm run build:packages` does. */
export async function fetchProtos(): Promise<void> {
  if (existsSync(`${projectRoot}.cache/protos/buf/validate/validate.proto`)) return;
  await promisify(execFile)("node", ["tools/dev/generate.ts", "--fetch"], { cwd: projectRoot });
}

/** A shell that keeps its functions and variables from one snippet to the next. */
export interface Shell {
  /** Runs a snippet and returns what it prints. Throws when its last command fails. */
  run(code: string): Promise<string>;
  close(): Promise<void>;
}

export function startShell(options: SpawnOptionsWithoutStdio = { cwd: projectRoot }): Shell {
  const shell = spawn("sh", options);
  const closed = new Promise<void>((resolve) => shell.once("close", () => resolve()));
  shell.stdin.on("error", () => {});
  return {
    run: (code) => runIn(shell, code),
    async close() {
      shell.stdin.end();
      await closed;
    },
  };
}

const endOfSnippet = "end of snippet, status";

function runIn(shell: ChildProcessWithoutNullStreams, code: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let printed = "";
  let errors = "";
  const onError = (data: Buffer) => {
    errors += data;
  };
  const onClose = () => reject(new Error(`the shell ended: ${errors}`));
  const onData = (data: Buffer) => {
    printed += data;
    const [output = "", status] = printed.split(endOfSnippet);
    if (status === undefined || !status.endsWith("\n")) return;
    if (status.trim() === "0") resolve(output);
    else reject(new Error(`status ${status.trim()} of ${code.trim()}\n${output}${errors}`));
  };
  shell.stdout.on("data", onData);
  shell.stderr.on("data", onError);
  shell.once("close", onClose);
  if (shell.exitCode !== null) onClose();
  // Without the null device a command could read the shell's own next line.
  shell.stdin.write(`{\n${code}\n} </dev/null\necho "${endOfSnippet} $?"\n`);
  return promise.finally(() => {
    shell.stdout.off("data", onData);
    shell.stderr.off("data", onError);
    shell.off("close", onClose);
  });
}

const shapes = [
  ["a time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/],
  ["a month", /^\d{4}-\d\d$/],
] as const;

const shapeOf = (text: string) => shapes.find(([, pattern]) => pattern.test(text))?.[0];

/**
 * The real answer, to be compared with the printed one: without the fields that are not printed,
 * and with the printed value where it matches. A printed `…` matches any value, a printed time any
 * time, a printed month any month.
 */
export function asPrinted(actual: unknown, printed: unknown): unknown {
  if (printed === "…") return actual === undefined ? undefined : printed;
  if (typeof actual === "string" && typeof printed === "string") {
    const shape = shapeOf(printed);
    return shape !== undefined && shape === shapeOf(actual) ? printed : actual;
  }
  if (Array.isArray(actual) && Array.isArray(printed)) {
    return actual.map((item, i) => (i < printed.length ? asPrinted(item, printed[i]) : item));
  }
  if (isObject(actual) && isObject(printed) && Object.keys(printed).length > 0) {
    const keys = Object.keys(printed).filter((key) => key in actual);
    return Object.fromEntries(keys.map((key) => [key, asPrinted(actual[key], printed[key])]));
  }
  return actual;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
