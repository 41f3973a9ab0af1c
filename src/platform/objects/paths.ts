/** Paths and versions of objects, and the errors about them. */
import { createHash } from "node:crypto";
import { DomainError } from "../words/errors.ts";

/** Whether the path stays below its place: relative, without `.`, `..` and empty parts. */
export const isPlainPath = (path: string): boolean =>
  !path.includes("\0") && path.split("/").every((part) => !["", ".", ".."].includes(part));

/** The version of a content, from its SHA-256 in hex. */
export const versionOf = (sha256: string): string => sha256.slice(0, 12);

/** The version of a content that a text identifies, such as an ETag. */
export const versionOfText = (text: string): string =>
  versionOf(createHash("sha256").update(text).digest("hex"));

/**
 * Passes the bytes of a path on. Throws INVALID_REQUEST at their end when they have another version
 * than the one requested; without a version, any bytes will do.
 */
export async function* checkVersion(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  version: string | undefined,
): AsyncGenerator<Uint8Array> {
  const sha256 = createHash("sha256");
  for await (const chunk of bytes) {
    sha256.update(chunk);
    yield chunk;
  }
  if (version !== undefined && versionOf(sha256.digest("hex")) !== version) {
    throw otherVersion(path);
  }
}

/** Only the objects of sources are read by their versions. */
export const otherVersion = (path: string): DomainError =>
  new DomainError("INVALID_REQUEST", `${JSON.stringify(path)} has changed since it was listed`, {
    field: "source",
  });
