/** The message and exit code of an error, for the person or script that has called the command. */
import {
  Code,
  ConnectError,
  type FieldViolation,
  isWrongAddress,
  metadataOf,
  reasonOf,
  violationsOf,
} from "@meguri/client";
import { CommanderError } from "commander";
import { exitCodes } from "./exit-codes.ts";
import type { Input } from "./inputs.ts";
import { inTypedNames } from "./typed-names.ts";

/** Arguments, variables or files that the command cannot use. Nothing was sent. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** An error as the command prints it; with `--json` it is the object that is printed. */
export interface Problem {
  /** A reason of docs/call/errors.md, USAGE, or the name of a gRPC code if no server answered. */
  readonly reason: string;
  readonly message: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** By the names of the API, while the message names options and arguments. */
  readonly violations: readonly FieldViolation[];
  readonly exitCode: number;
}

/** Codes that leave open whether a call was served, or that ask to send it later. */
const retryableCodes: ReadonlySet<Code> = new Set([
  Code.Aborted,
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.ResourceExhausted,
  Code.Unavailable,
  Code.Unknown,
]);

/**
 * Returns what to print for an error of the command that has these inputs. Rethrows one that only a
 * bug of the command explains.
 */
export function problemOf(error: unknown, inputs: readonly Input[]): Problem {
  if (error instanceof CommanderError) return usage(oneLine(error.message));
  if (error instanceof UsageError) return usage(error.message);
  if (isWrongAddress(error)) return usage((error as ConnectError).rawMessage);
  if (!(error instanceof ConnectError)) throw error;
  return {
    reason: reasonOf(error) ?? codeName(error.code),
    message: messageOf(error, inputs),
    metadata: metadataOf(error),
    violations: violationsOf(error),
    exitCode: exitCodeOf(error.code),
  };
}

/** Commander writes suggestions on a line of their own. */
const oneLine = (message: string): string => message.replace(/^error: /, "").replaceAll("\n", " ");

const usage = (message: string): Problem => ({
  reason: "USAGE",
  message,
  metadata: {},
  violations: [],
  exitCode: exitCodes.usage,
});

/** The violations name what was typed and what is wrong with it; other errors have a sentence. */
function messageOf(error: ConnectError, inputs: readonly Input[]): string {
  const violations = violationsOf(error)
    .map((violation) => inTypedNames(violation, inputs))
    .map(({ field, description }) => (field === "" ? description : `${field}: ${description}`));
  return violations.length > 0 ? violations.join("; ") : error.rawMessage;
}

function exitCodeOf(code: Code): number {
  if (code === Code.NotFound) return exitCodes.notFound;
  if (code === Code.Unauthenticated || code === Code.PermissionDenied) {
    return exitCodes.notPermitted;
  }
  return retryableCodes.has(code) ? exitCodes.retryable : exitCodes.refused;
}

/** The name as gRPC writes it, such as `DEADLINE_EXCEEDED`. */
const codeName = (code: Code): string =>
  (Code[code] ?? "UNKNOWN").replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
