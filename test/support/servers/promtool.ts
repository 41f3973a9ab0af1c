/** Finds or fetches Prometheus' program `promtool`, which checks rules and pages of metrics. */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { findOnPath, findTool, type Progress } from "../../../src/dev/stack/cached-tools.ts";
import { unpackDebian } from "./debian-packages.ts";

const title = "promtool of Debian's package prometheus";

/**
 * Runs promtool with this standard input, and returns what it prints. The program is the one on the
 * PATH, or one in the project's cache folder, where the package of Debian or Ubuntu is unpacked
 * once. Throws an error with instructions when neither works.
 *
 * @throws Error with what it prints, when it finds something wrong.
 */
export async function promtool(args: readonly string[], input = ""): Promise<string> {
  const program = await findTool(tool, console.error);
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, (error, stdout, stderr) => {
      if (error) reject(new Error(`promtool ${args.join(" ")}\n${stdout}${stderr}`));
      else resolve(stdout);
    });
    child.stdin?.end(input);
  });
}

/** Returns the path of Prometheus, which is beside promtool on the PATH, or in the same package. */
export async function findPrometheus(): Promise<string> {
  const unpacked = join(dirname(await findTool(tool, console.error)), "root/usr/bin/prometheus");
  return (await findOnPath("prometheus")) ?? unpacked;
}

const tool = { command: "promtool", title, folder: "promtool-debian", fetch: unpack };

async function unpack(folder: string, onProgress: Progress): Promise<string> {
  onProgress(`fetching ${title}`);
  const root = await unpackDebian(["prometheus"], folder).catch((cause: Error) => {
    throw new Error(
      "There is no promtool, and apt-get cannot fetch it. Put promtool on the PATH. " +
        `(${cause.message.trim()})`,
      { cause },
    );
  });
  return join(root, "usr/bin/promtool");
}
