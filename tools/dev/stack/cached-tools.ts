/**
 * Finds command-line tools. The version that the project names runs, wherever it comes from, unless
 * a variable names another program: TOOL_TEMPORAL that of the command `temporal`.
 */
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { adopt } from "./child.ts";
import { Locked, lock } from "./lock.ts";

const PROGRESS_EVERY_MS = 10_000;
const LOCK_POLL_MS = 1_000;
const MAX_SOCKET_PATH = 103;
/** A program that says nothing for so long says no version. */
const VERSION_TIMEOUT_MS = 30_000;

/** Gets lines about the progress, for people. */
export type Progress = (line: string) => void;

const quiet: Progress = () => {};

/** A file that is fetched into the project's cache folder once. */
type CachedFile = {
  /** Its name: of a tool, that of its executable. */
  readonly command: string;
  /** The name for people. */
  readonly title: string;
  /** The name of its folder in the cache, which differs from that of other versions. */
  readonly folder: string;
  /** Puts the file below this folder, and returns its path. */
  fetch(folder: string, onProgress: Progress): Promise<string>;
};

/** A command-line tool in one version. */
type Wanted = {
  readonly command: string;
  readonly title: string;
  /** Such as `1.5.1`. */
  readonly version: string;
  /** A newer version will do as well: of a tool that nobody offers in one exact version. */
  readonly isMinimum?: true | undefined;
  /**
   * The arguments with which it prints its version. Without them, one that is on the PATH is never
   * taken.
   */
  readonly versionArgs?: readonly string[] | undefined;
};

export type Tool = Wanted & CachedFile;

/** A tool that people have to install, and where they get it. */
type Installed = Wanted & { readonly site: string };

/** A tool that this project does not fetch is not there. */
export class ToolMissing extends Error {}

/** The oldest Go that fetches by itself the newer one that a module asks for. */
const GO: Installed = {
  command: "go",
  title: "Go",
  version: "1.21",
  isMinimum: true,
  versionArgs: ["version"],
  site: "https://go.dev/dl",
};

/**
 * Returns the path of the tool: the one that its variable names, else the one on the PATH if it
 * says that it is the wanted version, else the one in the project's cache folder, where it is put
 * when it is missing. Of two concurrent processes, one fetches and one waits. Says in one line what
 * is taken.
 *
 * @throws Error when the variable names no program, or of its `fetch`.
 */
export async function findTool(tool: Tool, onProgress: Progress = quiet): Promise<string> {
  const { taken, refused } = await findOnMachine(tool);
  const path = taken?.path ?? (await fetchOnce(tool, onProgress));
  // Nobody knows the version of a minimum that was fetched.
  const version = taken?.version ?? (tool.isMinimum ? await versionOf(tool, path) : tool.version);
  onProgress(lineOf(tool, version, path, refused));
  return path;
}

/**
 * Returns the path of a tool that people install: the one that its variable names, else the one on
 * the PATH if it is new enough. Says in one line what is taken.
 *
 * @throws ToolMissing that says where to get it.
 */
export async function findInstalled(
  tool: Installed,
  onProgress: Progress = quiet,
): Promise<string> {
  const { taken, refused } = await findOnMachine(tool);
  if (taken) {
    onProgress(lineOf(tool, taken.version, taken.path));
    return taken.path;
  }
  const { command, title, version, site } = tool;
  throw new ToolMissing(
    `there is no ${title} ${version} or newer (${refused ?? `no ${command} is on the PATH`}): ` +
      `install one (${site}), or set ${variableOf(tool)} to the path of its ${command}`,
  );
}

/** The program of the variable or of the PATH, or why the one of the PATH is not it. */
async function findOnMachine(tool: Wanted): Promise<{
  readonly taken?: { readonly path: string; readonly version: string | undefined };
  readonly refused?: string;
}> {
  const variable = variableOf(tool);
  const named = process.env[variable];
  if (named) {
    if (await isExecutable(named)) {
      return { taken: { path: named, version: await versionOf(tool, named) } };
    }
    throw new Error(`${variable} is ${named}, which is no program that can be run`);
  }
  const path = await findOnPath(tool.command);
  if (path === undefined) return {};
  const version = await versionOf(tool, path);
  if (version !== undefined && isWanted(tool, version)) return { taken: { path, version } };
  return { refused: `${path} is ${version ?? "of an unknown version"}` };
}

/** TOOL_REDIS_SERVER for `redis-server`. The prefix MEGURI_ is that of what a server reads. */
const variableOf = ({ command }: Wanted): string =>
  `TOOL_${command.toUpperCase().replaceAll("-", "_")}`;

const isWanted = ({ version, isMinimum }: Wanted, found: string): boolean =>
  isMinimum ? found.localeCompare(version, "en", { numeric: true }) >= 0 : found === version;

function lineOf(tool: Wanted, version: string | undefined, path: string, refused?: string) {
  const hint = refused && ` (${refused}; ${variableOf(tool)} can name another one)`;
  return `${tool.title} ${version ?? "of an unknown version"}: ${path}${hint ?? ""}`;
}

/** `1.5.1` of `temporal version 1.5.1 (Server 1.29.1)`. Undefined when the program says none. */
function versionOf({ versionArgs }: Wanted, path: string): Promise<string | undefined> {
  if (versionArgs === undefined) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const options = { timeout: VERSION_TIMEOUT_MS };
    const child = execFile(path, [...versionArgs], options, (error, stdout, stderr) => {
      const form = /(?:\bversion |\bv=?|\bchromium )\D{0,3}(\d+(?:\.\d+)*)/i;
      resolve(error ? undefined : form.exec(`${stdout}\n${stderr}`)?.[1]);
    });
    child.stdin?.end();
  });
}

/** Returns the path of the file in the project's cache folder, where it is put once. */
export async function fetchOnce(file: CachedFile, onProgress: Progress = quiet): Promise<string> {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const folder = join(base, "meguri", file.folder);
  const cached = join(folder, file.command);
  if (await exists(cached)) return cached;
  await mkdir(folder, { recursive: true });
  const onWait = () => onProgress(`waiting for another process that fetches the ${file.title}`);
  await withLock(lockOf(folder), onWait, async () => {
    if (await exists(cached)) return;
    await removeLeftovers(folder);
    // A folder beside the destination, so that the last step is a rename on one file system.
    const temporary = await mkdtemp(join(folder, "fetch-"));
    try {
      await rename(await file.fetch(temporary, onProgress), cached);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  });
  return cached;
}

/** The path of the lock's socket, for which macOS has 103 bytes. */
function lockOf(folder: string): string {
  const path = join(folder, "lock.sock");
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return path;
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  return join(tmpdir(), `meguri-${name}.sock`);
}

/** Removes what processes have left that were killed while they fetched. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith("fetch-")) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function findOnPath(command: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const file = join(folder, command);
    if (folder !== "" && (await isExecutable(file))) return file;
  }
  return undefined;
}

/** A Go package that is built, such as `example.com/tool@v1.0.0`. */
type GoPackage = {
  readonly title: string;
  readonly package: string;
  /** How long that takes, such as `some minutes`. */
  readonly duration: string;
};

/**
 * Builds a Go package into the folder. Go keeps each part that it has built in a cache of its own,
 * so a build that is stopped goes on where it was.
 *
 * @throws ToolMissing when there is no Go.
 */
export async function installWithGo(
  { title, package: name, duration }: GoPackage,
  folder: string,
  onProgress: Progress,
): Promise<void> {
  const go = await findInstalled(GO, onProgress);
  const started = Date.now();
  onProgress(`building the ${title}, once: ${duration}; a stopped build goes on where it was`);
  const report = (what: string) =>
    onProgress(`${what} (${Math.round((Date.now() - started) / 1000)} s)`);
  const timer = setInterval(() => report(`still building the ${title}`), PROGRESS_EVERY_MS);
  try {
    const process_ = spawn(go, ["install", name], {
      // A build that is killed leaves its files in that folder, which the next one removes.
      env: { ...process.env, GOBIN: folder, GOTMPDIR: folder },
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

/**
 * Runs `work` while this process alone has the lock, which the kernel releases however the process
 * ends. Calls `onWait` if it has to wait.
 */
async function withLock(path: string, onWait: () => void, work: () => Promise<void>) {
  let isReported = false;
  for (;;) {
    try {
      const release = await lock(path, `process ${process.pid}`);
      return await work().finally(release);
    } catch (error) {
      if (!(error instanceof Locked)) throw error;
    }
    if (!isReported) onWait();
    isReported = true;
    await sleep(LOCK_POLL_MS);
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
