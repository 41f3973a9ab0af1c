/** Starts dynoxide, a second emulator of DynamoDB, in the place of DynamoDB Local. */
import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { findTool, type Progress } from "../../../tools/dev/stack/cached-tools.ts";
import { adopt, waitUntilReady } from "../../../tools/dev/stack/child.ts";
import { findPorts, retryLostPorts } from "../../../tools/dev/stack/free-port.ts";
import { setup as sayingOnce, sayOnce } from "../say-once.ts";

/** The version of the crate; the program says another one. */
const version = "3.2.0";

const dynoxide = {
  command: "dynoxide",
  title: "dynoxide",
  version,
  folder: `dynoxide-v${version}`,
  async fetch(folder: string, onProgress: Progress): Promise<string> {
    onProgress(`building dynoxide ${version}, once: some minutes`);
    const args = ["install", `dynoxide-rs@${version}`, "--locked", "--root", folder];
    await promisify(execFile)("cargo", args, { maxBuffer: 2 ** 26 }).catch((cause) => {
      throw new Error(`cannot build dynoxide ${version}: it takes Rust and crates.io`, { cause });
    });
    return join(folder, "bin", "dynoxide");
  },
};

/** Starts it in memory, provides its address to the tests, and returns how to stop it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const removeSaid = sayingOnce();
  const program = await findTool(dynoxide, sayOnce);
  const { child, endpoint } = await retryLostPorts(() => start(program));
  project.provide("dynamodbEndpoint", endpoint);
  return async () => {
    await child.stop();
    removeSaid();
  };
}

async function start(program: string) {
  const [port] = await findPorts(0);
  const endpoint = `http://127.0.0.1:${port}`;
  const process_ = spawn(program, ["serve", "--port", String(port)], { detached: true });
  let listens = false;
  const child = await adopt(process_, {
    name: "dynoxide",
    onLine(line) {
      listens ||= line.includes("listening on");
    },
  });
  await waitUntilReady(child, async () => listens);
  return { child, endpoint };
}
