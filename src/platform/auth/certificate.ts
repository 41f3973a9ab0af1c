/** Reads the caller from the certificate of a connection: the URI among its alternative names. */

import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Logger } from "../observe/log.ts";
import type { Authenticator } from "../ports/identity.ts";
import { DomainError } from "../words/errors.ts";
import { parseCallers } from "./callers-file.ts";
import type { LimitName } from "./permissions.ts";
import { watchFiles } from "./watch-files.ts";

/** The URI and the end of a certificate that the handshake has verified. */
interface Certificate {
  readonly uri: string;
  /** A connection may outlive the certificate. */
  readonly expiresAtMs: number;
}

interface CertificateOptions {
  readonly callersFile: string;
  /** The limits that each caller of the file has to have. */
  readonly requiredLimits: readonly LimitName[];
}

/**
 * Authenticates by the client's certificate, whose authority the handshake has verified. Throws
 * UNAUTHENTICATED if the certificate names no caller or has expired, and PERMISSION_DENIED if the
 * callers' file does not have its URI: another certificate would not help.
 */
export function createCertificateAuthenticator(
  { callersFile, requiredLimits }: CertificateOptions,
  log: Logger,
): Authenticator {
  const parse = ([content = ""]: readonly string[]) => parseCallers(content, requiredLimits);
  const callers = watchFiles([callersFile], parse, log);
  const certificates = new WeakMap<Socket, Certificate>();
  return {
    authenticate({ socket }) {
      const { uri, expiresAtMs } = certificateOf(socket, certificates);
      if (Date.now() >= expiresAtMs) throw refuse("the client's certificate has expired");
      const identity = callers.current().get(uri);
      if (identity !== undefined) return identity;
      throw new DomainError("PERMISSION_DENIED", `the callers' file does not have ${uri}`);
    },
    ageMs: callers.ageMs,
    close: callers.close,
  };
}

const refuse = (text: string) => new DomainError("UNAUTHENTICATED", text);

function certificateOf(
  socket: Socket | undefined,
  known: WeakMap<Socket, Certificate>,
): Certificate {
  const found = socket && known.get(socket);
  if (found !== undefined) return found;
  const { authorized, getPeerX509Certificate } = (socket ?? {}) as Partial<TLSSocket>;
  const certificate = authorized ? getPeerX509Certificate?.call(socket) : undefined;
  if (socket === undefined || certificate === undefined) {
    throw refuse("the connection has no client certificate");
  }
  const uris = urisOf(certificate.subjectAltName ?? "");
  const [uri] = uris;
  if (uri === undefined || uris.length > 1) {
    throw refuse(`the client's certificate has ${uris.length} URIs instead of one`);
  }
  const read = { uri, expiresAtMs: certificate.validToDate.getTime() };
  known.set(socket, read);
  return read;
}

/**
 * The URIs in `X509Certificate.subjectAltName`: names with a type, separated by commas. Node writes
 * a name with a comma or a quote as a JSON string, so that no name can pass for several.
 */
function urisOf(alternativeNames: string): string[] {
  const names = [...alternativeNames.matchAll(/([^:,]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/gy)];
  if (names.map(([text]) => text).join("") !== alternativeNames) {
    throw refuse("the names of the client's certificate cannot be read");
  }
  return names.flatMap(([, type, name = ""]) => (type === "URI" ? [name] : []));
}
