/** The hash that makes requests with the same id comparable. */
import { createHash } from "node:crypto";
import type { Caller } from "../words/caller.ts";
import { DomainError } from "../words/errors.ts";

/**
 * Returns the hash of a request: two requests with the same id are the same if their hashes are
 * equal. It covers the operation, the calling service and every parameter that is not at its
 * default, so that a new parameter does not change stored hashes. For the same reason the names of
 * the parameters never change. It does not cover the subject: any instance of a service may repeat
 * a call. The hash starts with the version of this rule.
 */
export function requestHash(
  operation: string,
  caller: Caller,
  parameters: Readonly<Record<string, Parameter>>,
): string {
  const given = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== "" && value !== 0 && value !== false)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([operation, caller.service, given]);
  return `1:${createHash("sha256").update(text).digest("base64url")}`;
}

/** The stored text of a request with one of these hashes. A hash contains no space. */
export const oneOf = (hashes: readonly string[]): string => hashes.join(" ");

/** Whether a request is the one that is stored. */
export const isSameRequest = (stored: string, hash: string): boolean =>
  stored.split(" ").includes(hash);

/** Throws ID_REUSED, which names the field of the id, unless the request is the stored one. */
export function requireSameRequest(
  stored: string,
  hash: string,
  field: string,
  metadata?: { readonly number: string },
): void {
  if (isSameRequest(stored, hash)) return;
  throw new DomainError("ID_REUSED", `this ${field} was used for another request`, metadata);
}

/** A parameter of a request. */
type Parameter = string | number | boolean | undefined;
