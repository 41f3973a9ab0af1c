/** Finds or fetches the Temporal CLI, whose `server start-dev` is Temporal on this machine. */
import type { ExecFileException } from "node:child_process";
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { findTool, installWithGo, type Progress, type Tool, ToolMissing } from "./cached-tools.ts";

const VERSION = "1.5.1";
const DOWNLOAD_SITE = "https://temporal.download/";
const PROBE_TIMEOUT_MS = 3_000;
const DOWNLOAD_TIMEOUT_MS = 5 * 60_000;

const TEMPORAL_CLI: Tool = {
  command: "temporal",
  title: "Temporal CLI",
  version: VERSION,
  versionArgs: ["--version"],
  folder: `temporal-cli-v${VERSION}`,
  fetch: async (folder, onProgress) =>
    (await downloadWithSdk(folder, onProgress)) ?? (await buildWithGo(folder, onProgress)),
};

/**
 * Returns the path of the Temporal CLI, found as every tool is. When it is not in the project's
 * cache folder, it is fetched into it by the SDK's download or, where that site is not reachable,
 * built with Go.
 *
 * @throws Error with instructions when none of these works.
 */
export const findTemporalCli = (onProgress?: Progress): Promise<string> =>
  findTool(TEMPORAL_CLI, onProgress);

/** Returns undefined, within 3 s, where the download site is not reachable. */
async function downloadWithSdk(folder: string, onProgress: Progress): Promise<string | undefined> {
  if (!(await isReachable(DOWNLOAD_SITE))) return undefined;
  onProgress(`downloading the Temporal CLI ${VERSION}`);
  const script = `${import.meta.dirname}/temporal-sdk-download.ts`;
  const error = await run(process.execPath, [script, folder, `v${VERSION}`], DOWNLOAD_TIMEOUT_MS);
  const file = (await readdir(folder)).find((name) => name.startsWith("temporal"));
  if (error === undefined && file !== undefined) return join(folder, file);
  onProgress(`the download failed (${error ?? "no file"})`);
  return undefined;
}

async function buildWithGo(folder: string, onProgress: Progress): Promise<string> {
  const goPackage = {
    title: `Temporal CLI ${VERSION}`,
    package: `github.com/temporalio/cli/cmd/temporal@v${VERSION}`,
    duration: "about 4 minutes alone, up to 9 on a busy machine",
  };
  try {
    await installWithGo(goPackage, folder, onProgress);
  } catch (error) {
    if (!(error instanceof ToolMissing)) throw error;
    throw new Error(
      `the Temporal CLI ${VERSION} cannot be downloaded, and to build it, ${error.message}; or ` +
        "set TOOL_TEMPORAL to the path of a `temporal` (https://docs.temporal.io/cli), or " +
        "TEMPORAL_ADDRESS to the address of a Temporal server that already runs",
      { cause: error },
    );
  }
  return join(folder, TEMPORAL_CLI.command);
}

async function isReachable(url: string): Promise<boolean> {
  try {
    await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    return true;
  } catch {
    return false;
  }
}

/** Runs a command. Returns undefined when it succeeds, else its error in one line. */
function run(file: string, args: string[], timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(file, args, { timeout: timeoutMs }, (error: ExecFileException | null) => {
      resolve(error?.message.split("\n")[0]);
    });
  });
}
