/** Validates the inputs of activities. */
import { DomainError } from "../src/platform/words/errors.ts";

/**
 * Checks that `value` is an object whose fields have these types; `?` marks an optional field.
 * Throws INVALID_REQUEST.
 */
export function check<T>(value: T, fields: Readonly<Record<string, string>>): T {
  for (const [field, type] of Object.entries(fields)) {
    const given: unknown = (value as Record<string, unknown> | null | undefined)?.[field];
    const isOmitted = type.endsWith("?") && given === undefined;
    if (!isOmitted && (typeof given !== type.replace("?", "") || given === "")) {
      throw new DomainError("INVALID_REQUEST", `${field}: must be a ${type}`);
    }
  }
  return value;
}
