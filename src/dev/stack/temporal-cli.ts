/** Finds or fetches the Temporal CLI, whose `server start-dev` is Temporal on this machine. */
import type { ExecFileException } from "node:child_process";
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Progress, Tool } from "./cached-tools.ts";
import { findOnPath, findTool, installWithGo } from "./cached-tools.ts";

const VERSION = "v1.5.1";
const GO_PACKAGE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;
const DOWNLOAD_SITE = "https://temporal.download/";
const PROBE_TIMEOUT_MS = 3_000;
const DOWNLOAD_TIMEOUT_MS = 5 * 60_000;

const TEMPORAL_CLI: Tool = {
  command: "temporal",
  title: `Temporal CLI ${VERSION}`,
  folder: `temporal-cli-${VERSION}`,
  fetch: async (folder, onProgress) =>
    (await downloadWithSdk(folder, onProgress)) ?? (await buildWithGo(folder, onProgress)),
};

/**
 * Returns the path of a Temporal CLI: the one on the PATH, or the one in the project's cache
 * folder. When neither exists, it is fetched into that folder by the SDK's download or, where that
 * site is not reachable, built with Go.
 *
 * @throws Error with instructions when none of these works.
 */
export const findTemporalCli = (onProgress: Progress = () => {}): Promise<string> =>
  findTool(TEMPORAL_CLI, onProgress);

/** Returns undefined, within 3 s, where the download site is not reachable. */
async function downloadWithSdk(folder: string, onProgress: Progress): Promise<string | undefined> {
  if (!(await isReachable(DOWNLOAD_SITE))) return undefined;
  onProgress(`downloading the ${TEMPORAL_CLI.title}`);
  const script = `${import.meta.dirname}/temporal-sdk-download.ts`;
  const error = await run(process.execPath, [script, folder, VERSION], DOWNLOAD_TIMEOUT_MS);
  const file = (await readdir(folder)).find((name) => name.startsWith("temporal"));
  if (error === undefined && file !== undefined) return join(folder, file);
  onProgress(`the download failed (${error ?? "no file"})`);
  return undefined;
}

async function buildWithGo(folder: string, onProgress: Progress): Promise<string> {
  if ((await findOnPath("go")) === undefined) {
    throw new Error(
      "No Temporal CLI was found, its download is not reachable, and there is no Go to build it " +
        "with. Put `temporal` on the PATH (https://docs.temporal.io/cli), or set " +
        "TEMPORAL_ADDRESS to a Temporal server that already runs.",
    );
  }
  await installWithGo({ title: TEMPORAL_CLI.title, package: GO_PACKAGE, folder }, onProgress);
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
