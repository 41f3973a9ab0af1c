/** Finds the breaks of the contract by buf. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An annotation of `buf breaking --error-format json`. */
export interface Break {
  /** The rule that is broken, or COMPILE for protos that do not compile. */
  readonly type: string;
  /** The file from the project's root. Absent when buf has none to name, as for a lost package. */
  readonly path?: string;
  readonly start_line?: number;
  /** A sentence that names the elements, each in double quotes. */
  readonly message: string;
}

const buf = join(import.meta.dirname, "..", "..", "node_modules", ".bin", "buf");

/**
 * Compares the protos of a project with those of one of its commits, or of `origin/<ref>` where
 * only that exists. They are compiled with the present third-party protos, which are not in git.
 * Throws when there is no such commit, or when buf cannot compare them.
 */
export function breaksSince(root: string, ref: string): Break[] {
  const commit = [ref, `origin/${ref}`].find((name) => hasCommit(root, name));
  if (commit === undefined) {
    throw new Error(`there is no ${ref} to compare with; fetch it or name another commit`);
  }
  const base = mkdtempSync(join(tmpdir(), "meguri-breaking-"));
  try {
    const tar = join(base, "protos.tar");
    const args = ["archive", "--format=tar", "-o", tar, commit, "buf.yaml", "proto"];
    execFileSync("git", args, { cwd: root, stdio: "pipe" });
    execFileSync("tar", ["-xf", tar, "-C", base], { stdio: "pipe" });
    cpSync(join(root, ".cache", "protos"), join(base, ".cache", "protos"), { recursive: true });
    return findBreaks(root, base);
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/**
 * Compares the protos of two folders, each with a buf.yaml; the rules are those of `folder`. Throws
 * when buf cannot compare them.
 */
export function findBreaks(folder: string, baseFolder: string): Break[] {
  const args = ["breaking", "proto", "--against", join(baseFolder, "proto")];
  const { status, stdout, stderr, error } = spawnSync(buf, [...args, "--error-format", "json"], {
    cwd: folder,
    encoding: "utf8",
  });
  // 100 is buf's status for "there are annotations", which include those of the compiler.
  if (status !== 0 && status !== 100) throw error ?? new Error(`buf breaking failed: ${stderr}`);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Break);
}

/** The lines that the check prints about one commit, and whether it fails. */
interface Review {
  readonly lines: readonly string[];
  readonly failed: boolean;
}

/** Names every break. Before the first release they do not fail, unless the protos are broken. */
export function reviewBreaks(ref: string, breaks: readonly Break[], isReleased: boolean): Review {
  const failed = breaks.some(({ type }) => isReleased || type === "COMPILE");
  if (breaks.length === 0) return { lines: [`no break with ${ref}`], failed };
  const permitted = `${breaks.length} breaks with ${ref}, permitted until the first release:`;
  const title = failed ? `breaks with ${ref}:` : permitted;
  return { lines: [title, ...breaks.map(print)], failed };
}

function hasCommit(root: string, name: string): boolean {
  const args = ["rev-parse", "--quiet", "--verify", `${name}^{commit}`];
  return spawnSync("git", args, { cwd: root }).status === 0;
}

const print = ({ type, path = "proto", start_line = 1, message }: Break): string =>
  `  ${path}:${start_line}: ${message} (${type})`;
