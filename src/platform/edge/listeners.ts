/** The two ports of a server, and how they are drained. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { type ConnectRouter, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type Calls, callKey, createCalls } from "./calls.ts";
import { compressions } from "./compressions.ts";
import { maxTimeoutMs, socketKey } from "./context.ts";
import { allowOrigins } from "./cors.ts";
import { countCalls } from "./count-calls.ts";
import { binaryOptions, collectMethods, type Limits } from "./grpc/methods.ts";
import { serveStreams } from "./grpc/serve-streams.ts";
import { noteRead, noteUnread, refuseMalformed } from "./malformed.ts";
import { defaultBodyLimit } from "./method-limits.ts";
import { type Certificates, type ConnectionLimits, createServers } from "./servers.ts";

const limits: Limits = {
  /** Limits the memory of a decompressed request. */
  readMaxBytes: defaultBodyLimit,
  /** The default limit of gRPC clients. */
  writeMaxBytes: 4 * 2 ** 20,
  maxTimeoutMs,
};

/** Detects peers that disappeared without closing the connection. */
const tcpKeepAliveMs = 60_000;

/**
 * In this time the rest of an answered request may come, and the client may read the answer and
 * close the connection. A connection closed before is reset, and a slow client loses the answer.
 */
const lingerMs = 5_000;

export interface Ports {
  readonly port: number;
  readonly http1Port: number;
}

interface ListenerOptions {
  readonly routes: (router: ConnectRouter) => void;
  /** Absent: both ports are cleartext. */
  readonly certificates?: Certificates | undefined;
  /** The origins whose pages may call. */
  readonly corsOrigins: readonly string[];
  /** Counts and logs all calls. Absent: nobody reads the counts. */
  readonly calls?: Calls;
  /** Other limits than those of production, for tests. */
  readonly connections?: ConnectionLimits;
}

/** HTTP/2, meant for gRPC, and HTTP/1.1, meant for Connect. Both serve both protocols. */
interface Listeners {
  /** Listens on these ports, 0 meaning any free one. Returns the ports in use. */
  listen(host: string, ports: Ports): Promise<Ports>;
  /**
   * Accepts no new calls (GOAWAY on HTTP/2) and waits for running ones, at most `limitMs`; then
   * closes the remaining connections.
   */
  drain(limitMs: number): Promise<void>;
}

export function createListeners(options: ListenerOptions): Listeners {
  const { routes, certificates, corsOrigins, connections, calls = createCalls() } = options;
  const collected = collectMethods(routes, limits);
  const connect = connectNodeAdapter({
    ...limits,
    routes: refuseMalformed(collected.routes),
    requestGate: noteUnread,
    // For services without interceptors of their own.
    interceptors: [noteRead],
    acceptCompression: compressions,
    binaryOptions,
    contextValues: (request) =>
      createContextValues().set(socketKey, socketOf(request)).set(callKey, counter.callOf(request)),
  });
  const counter = countCalls(calls, collected.methods, refuseBadHosts(connect));
  const handle = allowOrigins(corsOrigins, counter.handle);
  const { server2, server1 } = createServers(certificates, connections);
  serveStreams(server2, collected.methods, handle, calls);
  server1.on("request", closeUnread);
  server1.on("request", handle);
  server1.on("request", (request, response) => {
    closeLater(request, response, collected.methods.lifeMs(request.url ?? ""));
  });
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
 * Closes the connection of a request that is answered before its end, such as one that is too
 * large, and says so: Connect does not read the rest, so the next request would get no answer. What
 * still comes is read and dropped.
 */
function closeUnread(request: IncomingMessage, response: ServerResponse): void {
  const { socket, headers } = request;
  const length = Number(headers["content-length"] ?? 0);
  if (headers["transfer-encoding"] === undefined && length === 0) return;
  const writeHead = response.writeHead.bind(response);
  response.writeHead = ((...args: Parameters<typeof writeHead>) => {
    if (!request.complete) {
      response.setHeader("connection", "close");
      // Node calls it after a response with this header.
      socket.destroySoon = () => {
        socket.end();
        setTimeout(() => socket.destroy(), lingerMs).unref();
      };
    }
    return writeHead(...args);
  }) as typeof writeHead;
}

/** Closes the connection of a call that its client keeps open, as `serveStreams` does. */
function closeLater(
  { socket }: IncomingMessage,
  response: ServerResponse,
  lifeMs: number | undefined,
): void {
  if (lifeMs === undefined) return;
  const timer = setTimeout(() => socket.destroy(), lifeMs);
  response.once("close", () => clearTimeout(timer));
}

type Handle = ReturnType<typeof connectNodeAdapter>;

/** The connection of a request. Of HTTP/2, `request.socket` is valid as long as the call only. */
const socketOf = (request: Parameters<Handle>[0]): Socket | undefined =>
  "stream" in request ? request.stream.session?.socket : request.socket;

/**
 * Answers 400 when connect-node throws, as it does for a Host that is no host ("["). An error of a
 * request listener would end the process.
 */
const refuseBadHosts =
  (handle: Handle): Handle =>
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
