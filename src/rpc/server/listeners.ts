/** The two ports of a server, and how they are drained. */
import { once } from "node:events";
import * as http from "node:http";
import * as http2 from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { maxTimeoutMs } from "./context.ts";
import { noteRead, noteUnread, refuseMalformed } from "./malformed.ts";

/** Limits the memory of a decompressed request. Valid requests are much smaller. */
const readMaxBytes = 64 * 2 ** 10;

/** The default limit of gRPC clients. */
const writeMaxBytes = 4 * 2 ** 20;

const http2Options: http2.ServerOptions = {
  settings: { maxConcurrentStreams: 1_000, maxHeaderListSize: 16_384 },
  maxSessionMemory: 32,
};

const http1Options: http.ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the 60 s of load balancers, so that the balancer closes an idle connection first.
  keepAliveTimeout: 75_000,
};

/** Detects peers that disappeared without closing the connection. */
const tcpKeepAliveMs = 60_000;

/** In this time the rest of an answered request may come, and the client may read the answer. */
const lingerMs = 200;

export interface Ports {
  readonly port: number;
  readonly http1Port: number;
}

/** Cleartext HTTP/2, meant for gRPC, and HTTP/1.1, meant for Connect. Both serve both protocols. */
interface Listeners {
  /** Listens on these ports, 0 meaning any free one. Returns the ports in use. */
  listen(host: string, ports: Ports): Promise<Ports>;
  /**
   * Accepts no new calls (GOAWAY on HTTP/2) and waits for running ones, at most `limitMs`; then
   * closes the remaining connections.
   */
  drain(limitMs: number): Promise<void>;
}

export function createListeners(routes: (router: ConnectRouter) => void): Listeners {
  const handle = orBadRequest(
    connectNodeAdapter({
      routes: refuseMalformed(routes),
      requestGate: noteUnread,
      // For services without interceptors of their own.
      interceptors: [noteRead],
      jsonOptions: { ignoreUnknownFields: false },
      readMaxBytes,
      writeMaxBytes,
      maxTimeoutMs,
    }),
  );
  const server2 = http2.createServer(http2Options, handle);
  const server1 = http.createServer(http1Options, handle);
  server1.on("request", closeUnread);
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
      // A kept-alive HTTP/1.1 connection becomes idle when its call has been answered.
      const closeIdle = setInterval(() => server1.closeIdleConnections(), 20);
      const limit = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, limitMs);
      await closed;
      clearInterval(closeIdle);
      clearTimeout(limit);
    },
  };
}

/**
 * Closes the connection of a request that was answered before its end, such as one that is too
 * large: Connect does not read the rest, so the next request would get no answer.
 */
function closeUnread(request: http.IncomingMessage, response: http.ServerResponse): void {
  const { socket } = request;
  response.once("finish", () => {
    const closeIncomplete = () => {
      if (!request.complete) socket.destroy();
    };
    if (!request.complete) setTimeout(closeIncomplete, lingerMs).unref();
  });
}

type NodeHandlerFn = ReturnType<typeof connectNodeAdapter>;

/** Answers 400 when Connect throws, as it does for a host that is missing or cannot be in a URL. */
const orBadRequest =
  (handle: NodeHandlerFn): NodeHandlerFn =>
  (request, response) => {
    try {
      handle(request, response);
    } catch {
      response.writeHead(400);
      response.end();
    }
  };

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port });
  await once(server, "listening");
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
