import { createHash } from "node:crypto";

/** A parameter of a request as it is hashed. */
type Parameter = string | number | boolean | undefined;

/**
 * The hash that tells whether an id was used for the same request before. It covers the operation,
 * the calling service and every parameter that is not at its default, so that a parameter added
 * later leaves old hashes alone. The version stands in front.
 */
export function requestHash(
  operation: string,
  caller: string,
  parameters: Readonly<Record<string, Parameter>>,
): string {
  const given = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== "" && value !== 0 && value !== false)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([operation, caller, given]);
  return `1:${createHash("sha256").update(text).digest("base64url")}`;
}
