/** Reads the certificates of the two ports. */
import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { Logger } from "../observe/log.ts";
import { type Watched, watchFiles } from "./watch-files.ts";

interface TlsFiles {
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
    ([cert, key, authorities]) => {
      const ca = authorities === undefined ? undefined : certificatesIn(authorities);
      const options = { cert, key, ca, minVersion: "TLSv1.2" } as const;
      createSecureContext(options);
      return options;
    },
    log,
  );
}

/** The certificates of a PEM file. Without any, Node would trust the public authorities. */
function certificatesIn(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new Error("the file of the clients' authorities is empty");
  for (const certificate of found) new X509Certificate(certificate);
  return found;
}
