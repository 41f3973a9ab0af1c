/** The form of user ids that a program demands in bulk grants: a pattern in the syntax of RE2. */
import { RE2JS } from "re2js";

/** A pattern has at most this many bytes. */
const maxPatternBytes = 256;

/**
 * A pattern has at most this many instructions. RE2 takes time in proportion to them for each
 * character: the worst pattern of this size takes 2 ms for the longest id.
 */
const maxInstructions = 128;

/** Says why a text cannot be a pattern; undefined when it can. */
export function whyNoPattern(pattern: string): string | undefined {
  if (Buffer.byteLength(pattern) > maxPatternBytes) return `has at most ${maxPatternBytes} bytes`;
  try {
    const size = RE2JS.compile(pattern).programSize();
    if (size <= maxInstructions) return undefined;
    return `has at most ${maxInstructions} instructions; this one has ${size}`;
  } catch (error) {
    return `is no regular expression of RE2: ${(error as Error).message}`;
  }
}

/** Returns whether a user id as a whole matches a pattern. */
export function createUserIdMatch(pattern: string): (userId: string) => boolean {
  const compiled = RE2JS.compile(pattern);
  return (userId) => compiled.testExact(userId);
}
