/** Finds the Temporal CLI, whose `server start-dev` is our Temporal; fetches it when it must. */
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
 * Path of a Temporal CLI: the one on the PATH, the project's cache folder, else fetched into that
 * folder by the SDK's download or, where that site is not reachable, built with Go. Two processes
 * may ask at once; one fetches and the other waits.
 *
 * @throws Error when none of them works, saying what to do.
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
    // Made beside its destination, so that the last step is one rename on one file system.
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

/** Undefined where the download site cannot be reached, which is found out quickly. */
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
  let told = false;
  while (!(await takeLock(file))) {
    if (!told) onProgress("waiting for another process that fetches the Temporal CLI");
    told = true;
    await sleep(LOCK_POLL_MS);
  }
  try {
    await work();
  } finally {
    await rm(file, { force: true });
  }
}

/** False while a living process holds it. The lock of a dead one is removed for the next try. */
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

/** Undefined when the command succeeded, else its error in one line. */
function run(file: string, args: string[], timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(file, args, { timeout: timeoutMs }, (error: ExecFileException | null) => {
      resolve(error?.message.split("\n")[0]);
    });
  });
}
