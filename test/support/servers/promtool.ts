/** Finds or fetches Prometheus' program `promtool`, which checks rules and pages of metrics. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { findTool, type Progress } from "../../../tools/dev/stack/cached-tools.ts";
import { sayOnce } from "../say-once.ts";
import { unpackDebian } from "./debian-packages.ts";

/** Debian's mirrors offer the newest build of a release only; that of Debian 12 is the oldest. */
const tool = {
  command: "promtool",
  title: "promtool",
  version: "2.42",
  isMinimum: true,
  versionArgs: ["--version"],
  folder: "promtool-debian",
  fetch: unpack,
} as const;

/**
 * Runs promtool with this standard input, and returns what it prints. When the PATH has none that
 * is new enough, the package of Debian or Ubuntu is unpacked once.
 *
 * @throws Error with what it prints, when it finds something wrong, or with instructions when it
 * cannot be fetched.
 */
export async function promtool(args: readonly string[], input = ""): Promise<string> {
  const program = await findTool(tool, sayOnce);
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, (error, stdout, stderr) => {
      if (error) reject(new Error(`promtool ${args.join(" ")}\n${stdout}${stderr}`));
      else resolve(stdout);
    });
    child.stdin?.end(input);
  });
}

/** Returns the path of the Prometheus that was installed together with promtool. */
export async function findPrometheus(): Promise<string> {
  const folder = dirname(await findTool(tool, sayOnce));
  const beside = join(folder, "prometheus");
  return existsSync(beside) ? beside : join(folder, "root/usr/bin/prometheus");
}

async function unpack(folder: string, onProgress: Progress): Promise<string> {
  onProgress("fetching promtool of Debian's package prometheus");
  const root = await unpackDebian(["prometheus"], folder).catch((cause: Error) => {
    throw new Error(
      `there is no promtool ${tool.version} or newer on the PATH, and apt-get cannot fetch it; ` +
        `TOOL_PROMTOOL can name one (${cause.message.trim()})`,
      { cause },
    );
  });
  return join(root, "usr/bin/promtool");
}
