/** The two versions of an upgrade: this one, and the previous one in a folder of its own. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

/** A version of the project whose processes can be started. */
export interface Version {
  /** The build that its workers write into histories. */
  readonly name: string;
  /** The folder of its sources and dependencies. */
  readonly root: string;
  /** The file with the bundle of its workflows. */
  readonly bundle: string;
}

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../../..");
/** A module that writes the bundle of the workflows of the version in its folder into a file. */
const writeBundle = `
  import { writeFileSync } from "node:fs";
  import { bundleWorkflows } from "./src/worker/bundle.ts";
  writeFileSync(process.argv[1], (await bundleWorkflows()).code);`;
const folderPrefix = "meguri-previous-";
const dayMs = 24 * 3_600_000;
const fetchTimeoutMs = 120_000;
const installTimeoutMs = 300_000;

/**
 * Puts the sources of a commit into a temporary folder, with dependencies of its own, unless they
 * are the present ones. Returns the version and how to remove it.
 */
export async function checkOut(
  commit: string,
): Promise<{ version: Version; remove: () => Promise<void> }> {
  await removeLeftovers(tmpdir());
  await fetchCommit(project, commit);
  const root = await mkdtemp(join(tmpdir(), folderPrefix));
  const remove = () => rm(root, { recursive: true, force: true });
  try {
    const archive = join(root, "archive.tar");
    await run("git", ["archive", "--format=tar", "-o", archive, commit], { cwd: project });
    await run("tar", ["-xf", archive, "-C", root]);
    await rm(archive);
    await installDependencies(root);
    const bundle = join(root, "workflows.js");
    const args = ["--input-type=module", "--eval", writeBundle, bundle];
    await run(process.execPath, args, { cwd: root });
    return { version: { name: "previous", root, bundle }, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Removes what killed runs have left in this folder more than a day ago. */
export async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder);
  for (const name of names.filter((each) => each.startsWith(folderPrefix))) {
    const path = join(folder, name);
    try {
      const { mtimeMs } = await stat(path);
      if (mtimeMs < Date.now() - dayMs) await rm(path, { recursive: true, force: true });
    } catch {
      // Another run has removed it, or it belongs to another user.
    }
  }
}

/**
 * Fetches a commit that a shallow clone does not have. A clone with the history needs no origin.
 *
 * @throws Error that says what to do when there is neither the commit nor an origin that has it.
 */
export async function fetchCommit(
  repository: string,
  commit: string,
  timeout = fetchTimeoutMs,
): Promise<void> {
  // An origin that wants a password refuses, instead of waiting for one.
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0" };
  const git = (...args: string[]) => run("git", args, { cwd: repository, env, timeout });
  const hasCommit = () =>
    git("cat-file", "-e", `${commit}^{commit}`).then(
      () => true,
      () => false,
    );
  if (await hasCommit()) return;
  const failure = await git("fetch", "--quiet", "--depth=1", "origin", commit).then(
    () => undefined,
    ({ killed, stderr }) =>
      killed ? `no answer within ${timeout / 1_000} s` : String(stderr).trim(),
  );
  if (await hasCommit()) return;
  throw new Error(
    `the upgrade starts at commit ${commit}, which this clone does not have and could not fetch ` +
      `from its origin (${failure}): clone with the history, or git fetch --unshallow`,
  );
}

/** Links the present dependencies where the lock file is the same; installs them otherwise. */
async function installDependencies(root: string): Promise<void> {
  const [before, now] = await Promise.all(
    [root, project].map((folder) => readFile(join(folder, "package-lock.json"))),
  );
  if (now && before?.equals(now)) {
    await symlink(join(project, "node_modules"), join(root, "node_modules"));
    return;
  }
  const options = ["--omit=dev", "--workspaces=false", "--prefer-offline", "--no-audit"];
  await run("npm", ["ci", ...options], { cwd: root, timeout: installTimeoutMs });
}

/** This version, with a bundle of its workflows that has been made already. */
export const presentVersion = (bundle: string): Version => ({
  name: "present",
  root: project,
  bundle,
});
