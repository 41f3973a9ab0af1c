/** Finds out whether the bytes of a file are those of the version that was requested. */
import { createHash } from "node:crypto";
import { DomainError } from "../../../platform/words/errors.ts";
import type { SourceFile } from "../source.ts";

/** The version that a SHA-256 in hex gives. */
export const shortHash = (sha256: string): string => sha256.slice(0, 12);

/**
 * Passes the bytes on. Throws INVALID_REQUEST at their end when they have another version than the
 * one requested; without a version, any bytes will do.
 */
export async function* checkVersion(
  bytes: AsyncIterable<Uint8Array>,
  { path, version }: SourceFile,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  if (version !== undefined && shortHash(hash.digest("hex")) !== version) {
    throw new DomainError("INVALID_REQUEST", `the content of ${path} has changed`, {
      field: "source",
    });
  }
}
