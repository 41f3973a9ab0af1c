/**
 * Checks that proto/ is compatible with the protos of a git ref, by default `main`:
 *
 *   node src/dev/breaking.ts [ref]
 *
 * buf.yaml has the rules, breaking-exceptions.ts the deliberate breaks. The ref's protos are
 * checked with the present third-party protos, which are not in git. Succeeds when the ref has no
 * protos or the repository has no commits. Needs `generate.ts --fetch` before.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { breakingExceptions } from "./breaking-exceptions.ts";
import { findBreaks, reviewBreaks } from "./contract-breaks.ts";

const root = join(import.meta.dirname, "..", "..");
const ref = process.argv[2] ?? "main";

function hasObject(name: string): boolean {
  const args = ["rev-parse", "--quiet", "--verify", name];
  return spawnSync("git", args, { cwd: root }).status === 0;
}

function check(base: string): number {
  const temp = mkdtempSync(join(tmpdir(), "meguri-breaking-"));
  try {
    const tar = join(temp, "protos.tar");
    const archive = ["archive", "--format=tar", "-o", tar, base, "buf.yaml", "proto"];
    execFileSync("git", archive, { cwd: root, stdio: "inherit" });
    execFileSync("tar", ["-xf", tar, "-C", temp], { stdio: "inherit" });
    cpSync(join(root, ".cache", "protos"), join(temp, ".cache", "protos"), { recursive: true });
    const { lines, failed } = reviewBreaks(findBreaks(root, temp), breakingExceptions);
    for (const line of lines) console.log(line);
    return failed ? 1 : 0;
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

const base = [ref, `origin/${ref}`].find((name) => hasObject(`${name}^{commit}`));
if (base !== undefined && hasObject(`${base}:proto`)) {
  process.exitCode = check(base);
} else if (base !== undefined || !hasObject("HEAD")) {
  console.log(`${ref} has no protos yet: nothing to break`);
} else {
  console.error(`there is no ${ref} to compare with; fetch it or name another ref`);
  process.exitCode = 1;
}
