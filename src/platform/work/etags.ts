/** The etags of resources, by which an update says which state it is meant for (AIP-154). */
import { createHash } from "node:crypto";
import { DomainError } from "../words/errors.ts";

/** Returns the etag of a resource with this content: equal contents have the same one. */
export const etagOf = (content: unknown): string => sha256Of(content).slice(0, 16);

/** Returns the SHA-256 of a value's JSON, base64url without padding. */
export const sha256Of = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64url");

/** Requires the etag of an update, if it has one, to be the present one. Refusal: ETAG_MISMATCH. */
export function requireEtag(given: string, present: string): void {
  if (given === "" || given === present) return;
  throw new DomainError("ETAG_MISMATCH", "the resource was changed since it was read");
}
