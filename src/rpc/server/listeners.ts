import { once } from "node:events";
import * as http from "node:http";
import * as http2 from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

/** No request is near this; it bounds what a decompressed one may take. */
const readMaxBytes = 64 * 2 ** 10;

/** What gRPC clients take by default. */
const writeMaxBytes = 4 * 2 ** 20;

/** Longer deadlines are refused: a timer cannot count them all, and no stream lives so long. */
const maxTimeoutMs = 3_600_000;

const http2Options: http2.ServerOptions = {
  settings: { maxConcurrentStreams: 1_000, maxHeaderListSize: 16_384 },
  maxSessionMemory: 32,
};

const http1Options: http.ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Above the 60 s that load balancers keep an idle connection, so that they are who ends it.
  keepAliveTimeout: 75_000,
};

/** Finds peers that went away without a word. */
const tcpKeepAliveMs = 60_000;

export interface Ports {
  readonly port: number;
  readonly http1Port: number;
}

/** The two ports of a server: cleartext HTTP/2 for gRPC, HTTP/1.1 for Connect; both take both. */
interface Listeners {
  listen(host: string, wished: Ports): Promise<Ports>;
  /**
   * Takes no new calls (GOAWAY on HTTP/2) and waits for those under way, at most `limitMs`; then
   * breaks what is left.
   */
  drain(limitMs: number): Promise<void>;
}

export function createListeners(routes: (router: ConnectRouter) => void): Listeners {
  const handle = connectNodeAdapter({ routes, readMaxBytes, writeMaxBytes, maxTimeoutMs });
  const server2 = http2.createServer(http2Options, handle);
  const server1 = http.createServer(http1Options, handle);
  const servers: readonly Server[] = [server2, server1];
  const sockets = new Set<Socket>();
  for (const server of servers) {
    server.on("connection", (socket: Socket) => {
      socket.setKeepAlive(true, tcpKeepAliveMs);
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
  }
  return {
    async listen(host, { port, http1Port }) {
      await Promise.all([listen(server2, host, port), listen(server1, host, http1Port)]);
      return { port: portOf(server2), http1Port: portOf(server1) };
    },

    async drain(limitMs) {
      const closed = Promise.all(servers.map((server) => once(server, "close")));
      for (const server of servers) server.close();
      // A kept-alive HTTP/1.1 connection becomes idle again with its answer.
      const sweep = setInterval(() => server1.closeIdleConnections(), 20);
      const limit = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, limitMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(limit);
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port });
  await once(server, "listening");
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
