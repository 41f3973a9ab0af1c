/** Makes a copy of the repository as a stranger has it after `npm ci`, and runs commands in it. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { projectRoot } from "../markdown.ts";

const run = promisify(execFile);

/** A command that runs until it is stopped, such as `npm run dev`. */
export interface RunningCommand {
  /** Waits until it has printed the pattern. Throws all that it has printed when it ends first. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Ends it and what it has started, as Ctrl-C does, and waits for the end. */
  stop(): Promise<void>;
}

export interface BareClone {
  readonly folder: string;
  /** The environment of somebody who has cloned the repository. */
  readonly env: NodeJS.ProcessEnv;
  start(command: string, env?: NodeJS.ProcessEnv): RunningCommand;
  remove(): Promise<void>;
}

/**
 * Copies the files that git knows or would add, and links the installed dependencies. Nothing that
 * git ignores is there, such as fetched protos, built packages and the data of a dev stack.
 */
export async function makeBareClone(): Promise<BareClone> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-clone-"));
  const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = await run("git", listed, { cwd: projectRoot, maxBuffer: 1 << 26 });
  for (const file of stdout.split("\0").filter((name) => name && existsSync(projectRoot + name))) {
    await cp(projectRoot + file, join(folder, file));
  }
  const dependencies = [join(projectRoot, "node_modules"), join(folder, "node_modules")];
  // Hard links, where both folders are on one file system.
  await run("cp", ["-al", ...dependencies]).catch(() => run("cp", ["-a", ...dependencies]));
  const env = readersEnvironment();
  return {
    folder,
    env,
    start: (command, more) => startCommand(command, folder, { ...env, ...more }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The variables of this process without those that npm, Vitest and the tests have set. */
export function readersEnvironment(): NodeJS.ProcessEnv {
  const byNpm = /^(npm_(?!config_)|npm_config_(local_)?prefix$|INIT_CWD$|NODE(?!_EXTRA))/;
  const byTests = /^(VITEST|MEGURI_|TEMPORAL_|AWS_)/;
  const kept = Object.entries(process.env).filter(
    ([name]) => !byNpm.test(name) && !byTests.test(name),
  );
  const folders = (process.env.PATH ?? "").split(delimiter);
  const path = folders.filter((name) => !/\bnode_modules\b|node-gyp-bin/.test(name));
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}

function startCommand(command: string, cwd: string, env: NodeJS.ProcessEnv): RunningCommand {
  const child = spawn("sh", ["-c", command], { cwd, env, detached: true, stdio: "pipe" });
  let printed = "";
  let hasEnded = false;
  const ended = once(child, "close").then(() => {
    hasEnded = true;
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      printed += data;
    });
  }
  return {
    async says(pattern) {
      for (;;) {
        const found = pattern.exec(printed);
        if (found) return found;
        if (hasEnded) throw new Error(`${command} ended early:\n${printed}`);
        await Promise.race([once(child.stdout, "data"), ended]);
      }
    },
    async stop() {
      // The process group: the shell, npm and what they have started.
      if (!hasEnded && child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
      await ended;
    },
  };
}
