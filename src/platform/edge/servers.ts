/** The two servers behind the ports, in cleartext or with TLS, before they have a handler. */
import * as http from "node:http";
import * as http2 from "node:http2";
import * as https from "node:https";
import type { SecureContextOptions } from "node:tls";

const http2Options: http2.ServerOptions = {
  // Node ends a connection with more than 100 streams above this limit, and counts streams that
  // were reset just before: so calls that time out together end it where they reach the limit.
  settings: { maxConcurrentStreams: 4_000, maxHeaderListSize: 16_384 },
  // So many calls may time out together, and so many a second. By default the connection ends
  // after 1,000, and 33 a second.
  streamResetBurst: 10_000,
  streamResetRate: 1_000,
  maxSessionMemory: 32,
};

const http1Options: http.ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  // Longer than the 60 s of load balancers, so that the balancer closes an idle connection first.
  keepAliveTimeout: 75_000,
};

const handshakeTimeoutMs = 10_000;

/** The limits of the connections to a port. */
export interface ConnectionLimits {
  /** The most connections at a time. Further ones are closed at once. */
  readonly maxConnections: number;
  /** How long an HTTP/2 connection may be without a stream and without a frame. */
  readonly idleMs: number;
}

const defaultLimits: ConnectionLimits = { maxConnections: 4_096, idleMs: 300_000 };

/** Certificates that may change while the servers run. */
export interface Certificates {
  /** Clients need a certificate if `ca` is there. */
  current(): SecureContextOptions;
  onChange(listener: (options: SecureContextOptions) => void): void;
}

interface Servers {
  readonly server2: http2.Http2Server | http2.Http2SecureServer;
  readonly server1: http.Server | https.Server;
}

/** Creates them in cleartext, or with TLS where there are certificates. */
export function createServers(
  certificates: Certificates | undefined,
  { maxConnections, idleMs } = defaultLimits,
): Servers {
  const servers = certificates
    ? createTlsServers(certificates)
    : { server2: http2.createServer(http2Options), server1: http.createServer(http1Options) };
  for (const server of Object.values(servers)) server.maxConnections = maxConnections;
  servers.server2.on("session", (session) => closeIdle(session, idleMs));
  return servers;
}

/** Closes a connection that is idle for so long. Streams that are quiet keep it open. */
function closeIdle(session: http2.ServerHttp2Session, idleMs: number): void {
  let openStreams = 0;
  session.on("stream", (stream) => {
    openStreams += 1;
    stream.once("close", () => {
      openStreams -= 1;
    });
  });
  // Fires again when the connection was used since, such as by the end of a stream.
  session.on("timeout", () => {
    if (openStreams === 0) session.close();
  });
  session.setTimeout(idleMs);
}

function createTlsServers(certificates: Certificates): Servers {
  const options = certificates.current();
  const needsCertificate = options.ca !== undefined;
  const tls = {
    ...options,
    requestCert: needsCertificate,
    rejectUnauthorized: needsCertificate,
    handshakeTimeout: handshakeTimeoutMs,
  };
  const server2 = http2.createSecureServer({ ...http2Options, ...tls });
  const server1 = https.createServer({ ...http1Options, ...tls });
  // Open connections keep the certificates that they began with.
  certificates.onChange((changed) => {
    for (const server of [server2, server1]) server.setSecureContext(changed);
  });
  return { server2, server1 };
}
