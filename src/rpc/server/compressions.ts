/** The compressions that servers take and use: those of connect-node, which inflate less here. */
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { defaultBodyLimit } from "./method-limits.ts";

/** Sheets in CSV inflate to less than this many times their size. */
const maxRatio = 20;

/**
 * Lets a message inflate up to the default body limit, and beyond it to 20 times its size, so that
 * a few bytes never cost the memory and the time of a large body.
 */
const inflatingLess = ({ name, compress, decompress }: Compression): Compression => ({
  name,
  compress,
  decompress: (bytes, readMaxBytes) =>
    decompress(
      bytes,
      Math.min(readMaxBytes, Math.max(defaultBodyLimit, maxRatio * bytes.byteLength)),
    ),
});

export const compressions: Compression[] = [compressionGzip, compressionBrotli].map(inflatingLess);
