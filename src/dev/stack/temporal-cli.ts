/** Finds or fetches the Temporal CLI, whose `server start-dev` is Temporal on this machine. */
import type { ExecFileException } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import {
  access,
  constants,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { adopt } from "./child.ts";

const VERSION = "v1.5.1";
const GO_PACKAGE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;
const DOWNLOAD_SITE = "https://temporal.download/";
const PROBE_TIMEOUT_MS = 3_000;
const DOWNLOAD_TIMEOUT_MS = 5 * 60_000;
const PROGRESS_EVERY_MS = 10_000;
const LOCK_POLL_MS = 1_000;

type Progress = (line: string) => void;

/**
 * Returns the path of a Temporal CLI: the one on the PATH, or the one in the project's cache
 * folder. When neither exists, it is fetched into that folder by the SDK's download or, where that
 * site is not reachable, built with Go. Of two concurrent processes, one fetches and one waits.
 *
 * @throws Error with instructions when none of these works.
 */
export async function findTemporalCli(onProgress: Progress = () => {}): Promise<string> {
  const onPath = await findOnPath("temporal");
  if (onPath !== undefined) return onPath;
  const folder = cacheFolder();
  const cached = join(folder, "temporal");
  if (await isExecutable(cached)) return cached;
  await mkdir(folder, { recursive: true });
  await withLock(join(folder, "lock"), onProgress, async () => {
    if (await isExecutable(cached)) return;
    // A folder beside the destination, so that the last step is a rename on one file system.
    const temporary = await mkdtemp(join(folder, "fetch-"));
    try {
      const fetched =
        (await downloadWithSdk(temporary, onProgress)) ??
        (await buildWithGo(temporary, onProgress));
      await rename(fetched, cached);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  });
  return cached;
}

function cacheFolder(): string {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(base, "meguri", `temporal-cli-${VERSION}`);
}

/** Returns undefined, within 3 s, where the download site is not reachable. */
async function downloadWithSdk(folder: string, onProgress: Progress): Promise<string | undefined> {
  if (!(await isReachable(DOWNLOAD_SITE))) return undefined;
  onProgress(`downloading the Temporal CLI ${VERSION}`);
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
  const started = Date.now();
  const report = (what: string) =>
    onProgress(`${what} (${Math.round((Date.now() - started) / 1000)} s)`);
  report(`building the Temporal CLI ${VERSION} with Go, once, about 4 minutes`);
  const timer = setInterval(() => report("still building the Temporal CLI"), PROGRESS_EVERY_MS);
  try {
    const env = { ...process.env, GOBIN: folder };
    const process_ = spawn("go", ["install", GO_PACKAGE], {
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const child = await adopt(process_, { name: "go install" });
    const end = await child.exited;
    if (end !== "exit code 0") {
      throw new Error(`building the Temporal CLI failed (${end})\n${child.lastOutput()}`);
    }
  } finally {
    clearInterval(timer);
  }
  report("built the Temporal CLI");
  return join(folder, "temporal");
}

/** Runs `work` while this process alone holds the lock file. */
async function withLock(file: string, onProgress: Progress, work: () => Promise<void>) {
  let isReported = false;
  while (!(await takeLock(file))) {
    if (!isReported) onProgress("waiting for another process that fetches the Temporal CLI");
    isReported = true;
    await sleep(LOCK_POLL_MS);
  }
  try {
    await work();
  } finally {
    await rm(file, { force: true });
  }
}

/** Returns false while a process holds the lock. Removes the lock of a process that has ended. */
async function takeLock(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const holder = Number(await readFile(file, "utf8").catch(() => ""));
  if (holder > 0 && !isAlive(holder)) await rm(file, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function findOnPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const file = join(folder, name);
    if (folder !== "" && (await isExecutable(file))) return file;
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
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
