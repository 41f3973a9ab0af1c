/** Finds command-line tools, and fetches missing ones once into the project's cache folder. */
import { spawn } from "node:child_process";
import {
  access,
  constants,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { adopt } from "./child.ts";

const PROGRESS_EVERY_MS = 10_000;
const LOCK_POLL_MS = 1_000;

/** Gets the lines that tell people what is going on. */
export type Progress = (line: string) => void;

/** A command-line tool in one version. */
export type Tool = {
  /** The name of its executable, or of another file that is fetched. */
  readonly command: string;
  /** What people call it. */
  readonly title: string;
  /** The name of its folder in the cache, which differs from that of other versions. */
  readonly folder: string;
  /** Puts the executable below this folder, and returns its path. */
  fetch(folder: string, onProgress: Progress): Promise<string>;
};

/**
 * Returns the path of the tool: the one on the PATH, or the one in the project's cache folder,
 * where it is put when neither exists. Of two concurrent processes, one fetches and one waits.
 *
 * @throws Error of its `fetch`.
 */
export const findTool = async (tool: Tool, onProgress: Progress): Promise<string> =>
  (await findOnPath(tool.command)) ?? (await fetchOnce(tool, onProgress));

/** Returns the path of the file in the project's cache folder, where it is put once. */
export async function fetchOnce(
  { command, title, ...tool }: Tool,
  onProgress: Progress,
): Promise<string> {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const folder = join(base, "meguri", tool.folder);
  const cached = join(folder, command);
  if (await exists(cached)) return cached;
  await mkdir(folder, { recursive: true });
  const onWait = () => onProgress(`waiting for another process that fetches the ${title}`);
  await withLock(join(folder, "lock"), onWait, async () => {
    if (await exists(cached)) return;
    // A folder beside the destination, so that the last step is a rename on one file system.
    const temporary = await mkdtemp(join(folder, "fetch-"));
    try {
      await rename(await tool.fetch(temporary, onProgress), cached);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  });
  return cached;
}

export async function findOnPath(command: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const file = join(folder, command);
    if (folder !== "" && (await isExecutable(file))) return file;
  }
  return undefined;
}

/** Builds a Go package, such as `example.com/tool@v1.0.0`, into the folder. */
export async function installWithGo(
  { title, package: name, folder }: { title: string; package: string; folder: string },
  onProgress: Progress,
): Promise<void> {
  const started = Date.now();
  const report = (what: string) =>
    onProgress(`${what} (${Math.round((Date.now() - started) / 1000)} s)`);
  report(`building the ${title} with Go, once, some minutes`);
  const timer = setInterval(() => report(`still building the ${title}`), PROGRESS_EVERY_MS);
  try {
    const process_ = spawn("go", ["install", name], {
      env: { ...process.env, GOBIN: folder },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const child = await adopt(process_, { name: "go install" });
    const end = await child.exited;
    if (end !== "exit code 0") {
      throw new Error(`building the ${title} failed (${end})\n${child.lastOutput()}`);
    }
  } finally {
    clearInterval(timer);
  }
  report(`built the ${title}`);
}

/** Runs `work` while this process alone holds the lock file. Calls `onWait` if it has to wait. */
async function withLock(file: string, onWait: () => void, work: () => Promise<void>) {
  let isReported = false;
  while (!(await takeLock(file))) {
    if (!isReported) onWait();
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

const isExecutable = (file: string) => exists(file, constants.X_OK);

async function exists(file: string, mode = constants.F_OK): Promise<boolean> {
  try {
    await access(file, mode);
    return true;
  } catch {
    return false;
  }
}
