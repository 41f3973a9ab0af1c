/** The compressions that servers take and use. */
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";

export const compressions: Compression[] = [compressionGzip, compressionBrotli];
