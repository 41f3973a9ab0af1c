/** Finds the breaks of the contract by buf, and separates the deliberate ones from the rest. */
import { spawnSync } from "node:child_process";
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

/** Breaks that are wanted. */
export interface BreakingException {
  /** The rules of buf that these changes break. */
  readonly rules: readonly string[];
  /** The file from the project's root. */
  readonly file: string;
  /** Matches buf's messages. It names every element, so that it permits no later break. */
  readonly message: RegExp;
  /** Why, and what a client does instead. */
  readonly reason: string;
}

const buf = join(import.meta.dirname, "..", "..", "node_modules", ".bin", "buf");

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

/** What the check prints, and whether it fails. */
interface Review {
  readonly lines: readonly string[];
  readonly failed: boolean;
}

/** Fails on every break that no exception permits. Names the exceptions, used or not. */
export function reviewBreaks(
  breaks: readonly Break[],
  exceptions: readonly BreakingException[],
): Review {
  const used = exceptions.map((exception) => {
    const permitted = breaks.filter((one) => permits(exception, one));
    const where = `${exception.file}, ${exception.message}`;
    return permitted.length === 0
      ? `no longer needed: ${where}`
      : `deliberate: ${where} (${permitted.length}): ${exception.reason}`;
  });
  const refused = breaks.filter((one) => !exceptions.some((each) => permits(each, one)));
  return { lines: [...used, ...refused.map(print)], failed: refused.length > 0 };
}

const permits = ({ rules, file, message }: BreakingException, one: Break): boolean =>
  rules.includes(one.type) && file === one.path && message.test(one.message);

const print = ({ type, path = "proto", start_line = 1, message }: Break): string =>
  `BREAK: ${path}:${start_line}: ${message} (${type})`;
