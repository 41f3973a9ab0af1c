/** Says what happens in a run of the tests once, though each test file finds the same tools. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Prints the line, unless another process of this run has printed it. */
export function sayOnce(line: string): void {
  const folder = process.env.TEST_SAID_LINES;
  if (folder === undefined || isFirst(folder, line)) console.error(line);
}

/** Makes the folder in which a run without servers notes what was said. Returns its removal. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "meguri-said-"));
  process.env.TEST_SAID_LINES = folder;
  return () => rmSync(folder, { recursive: true });
}

function isFirst(folder: string, line: string): boolean {
  const name = createHash("sha256").update(line).digest("hex");
  try {
    writeFileSync(join(folder, name), "", { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}
