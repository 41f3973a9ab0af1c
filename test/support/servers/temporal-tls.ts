/**
 * A proxy that ends TLS in front of a Temporal and asks for an API key, as Temporal Cloud does: it
 * passes on the calls with one of the accepted keys, and refuses all other calls.
 */
import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { CertificateAndKey } from "../fixtures/certificates.ts";

export interface TemporalTls {
  /** `host:port` */
  readonly address: string;
  /** Calls whose key is not one of these are refused from now on. */
  accept(...keys: string[]): void;
  /** The keys of all calls, in their order. */
  readonly keys: readonly string[];
  stop(): void;
}

/** Google's code of an unknown caller. */
const unauthenticated = "16";

/** Starts the proxy on a free port of loopback, in front of the Temporal at `upstream`. */
export async function startTemporalTls(
  certificate: CertificateAndKey,
  upstream: string,
): Promise<TemporalTls> {
  const session = connect(`http://${upstream}`);
  const server = createSecureServer(certificate);
  const open = new Set<{ destroy(): void }>([session]);
  const keys: string[] = [];
  let accepted: readonly string[] = [];
  server.on("session", (each) => open.add(each));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    const key = headers.authorization?.replace(/^Bearer /, "") ?? "";
    keys.push(key);
    if (accepted.includes(key)) forward(session, stream, headers);
    else {
      const answer = { "content-type": "application/grpc", "grpc-status": unauthenticated };
      stream.respond({ ":status": 200, ...answer }, { endStream: true });
    }
  });
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    accept: (...these) => {
      accepted = these;
    },
    keys,
    stop() {
      server.close();
      for (const each of open) each.destroy();
    },
  };
}

/** Passes a call on, and its answer with the trailers back. */
function forward(
  session: ClientHttp2Session,
  stream: ServerHttp2Stream,
  { ":scheme": _, ":authority": __, ...headers }: IncomingHttpHeaders,
): void {
  const call = session.request(headers as OutgoingHttpHeaders);
  let trailers: IncomingHttpHeaders = {};
  call.on("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  call.on("response", (answer, flags) => {
    if (stream.destroyed) return;
    if (flags & constants.NGHTTP2_FLAG_END_STREAM) stream.respond(answer, { endStream: true });
    else stream.respond(answer, { waitForTrailers: true });
  });
  call.on("trailers", (these) => {
    trailers = these;
  });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.on("aborted", () => call.close(constants.NGHTTP2_CANCEL));
  stream.pipe(call);
  call.pipe(stream);
}
