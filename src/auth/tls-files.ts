/** Reads the certificates of the two ports. */
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { Logger } from "../log.ts";
import { type Watched, watchFiles } from "./watch-files.ts";

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** The authorities of the clients' certificates. Absent: clients need none. */
  readonly clientCaFile?: string | undefined;
}

/** Reads the files as PEM. Throws if they are missing or the key is not the certificate's. */
export function watchTls(
  { certFile, keyFile, clientCaFile }: TlsFiles,
  log: Logger,
): Watched<SecureContextOptions> {
  const files = [certFile, keyFile, ...(clientCaFile === undefined ? [] : [clientCaFile])];
  return watchFiles(
    files,
    ([cert, key, ca]) => {
      const options = { cert, key, ca, minVersion: "TLSv1.2" } as const;
      createSecureContext(options);
      return options;
    },
    log,
  );
}
