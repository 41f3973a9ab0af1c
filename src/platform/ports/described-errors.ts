/** Describes errors for logs, which name nobody. */

import { DomainError } from "../words/errors.ts";

/** An error whose message names nobody. */
export class LoggableError extends Error {}

/** The parts of an error that a log may contain although its message may quote people. */
interface DescribedError {
  /** The reason, the type of a failure, or the name of the error. */
  readonly type: string;
  /** The code of Node or the operating system, or the HTTP status that another service gave. */
  readonly code?: string | number;
  /** The message of an error whose texts name nobody. */
  readonly text?: string;
  /** The stack frames where it arose. */
  readonly at: readonly string[];
}

/** Describes an error without a message that may quote what people have sent or stored. */
export function describeError(error: unknown): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, at: [] };
  const { message, stack = "" } = error;
  const at = stack.split("\n").flatMap((line) => (/^\s+at /.test(line) ? [line.trim()] : []));
  if (error instanceof DomainError) return { type: error.reason, text: message, at };
  if (error instanceof LoggableError) return { type: error.name, text: message, at };
  return { type: "type" in error ? String(error.type) : error.name, ...codeOf(error), at };
}

function codeOf(error: Error): Pick<DescribedError, "code"> {
  if ("code" in error && typeof error.code === "string") return { code: error.code };
  return "status" in error && typeof error.status === "number" ? { code: error.status } : {};
}
