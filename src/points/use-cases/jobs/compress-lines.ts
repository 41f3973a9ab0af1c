/** Compresses the lines of a file of an export. */
import { createHash } from "node:crypto";
import { finished } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { ExportedPart } from "../../ports/exports.ts";

/** Compresses lines into one file of gzip, in memory. */
export function compressLines() {
  const gzip = createGzip();
  const chunks: Buffer[] = [];
  gzip.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    compressed.bytes += chunk.length;
  });
  const compressed = {
    count: 0,
    /** The bytes compressed so far; some of the last lines are still on their way. */
    bytes: 0,
    async add(lines: readonly string[]): Promise<void> {
      if (lines.length === 0) return;
      compressed.count += lines.length;
      await new Promise((resolve) =>
        gzip.write(lines.map((line) => `${line}\n`).join(""), resolve),
      );
    },
    /** Ends the file, and returns its content and what a manifest says of it. */
    async end(name: string): Promise<ExportedPart & { readonly content: Buffer }> {
      gzip.end();
      await finished(gzip);
      const content = Buffer.concat(chunks);
      const sha256 = createHash("sha256").update(content).digest("hex");
      return { name, entries: compressed.count, bytes: content.length, sha256, content };
    },
  };
  return compressed;
}
