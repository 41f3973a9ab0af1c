/** The servers of a client: which of them are there, and which one serves a key. */
import { lookup } from "node:dns/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Address, type Connection, createConnection } from "./connection.ts";
import { createNames, type Resolve } from "./names.ts";
import type { MeguriOptions } from "./options.ts";
import { hashOf, weightOf } from "./rendezvous.ts";
import { within } from "./within.ts";

/** For how long a server is left out after a failure, at most; at least half of it. */
const awayMs = 1_000;

/** How long a connection may take. */
const connectTimeoutMs = 3_000;

/** One server of a client. */
export interface Server {
  /** Its address, such as `10.0.0.1:8080`. */
  readonly id: string;
  readonly hash: number;
  readonly connection: Connection;
  /** Until when it is left out, in `performance.now()` milliseconds; 0 if it is not. */
  awayUntil: number;
}

export interface Servers {
  /**
   * Returns the server of a key: the first in the key's order that is there and not to be skipped.
   * Without a key, picks servers round robin. Returns a promise only while names are resolved for
   * the first time; it rejects with UNAVAILABLE if none resolves. Throws FAILED_PRECONDITION once
   * it is closed.
   */
  pick(key: string | undefined, skip?: ReadonlySet<Server>): Server | Promise<Server>;
  /** Connects to a server. Throws what has failed, and UNAVAILABLE after 3 s. */
  connect(server: Server): Promise<void>;
  /** Leaves a server out for about a second, and from then on until it accepts connections. */
  leaveOut(server: Server): void;
  /** Whether another server is there than these. */
  hasOther(skip: ReadonlySet<Server>): boolean;
  isClosed(): boolean;
  close(): void;
}

const resolveName: Resolve = (name) => lookup(name, { all: true });

/** Makes the servers. Throws a TypeError for an address that is no URL of HTTP. */
export function createServers(options: MeguriOptions, resolve: Resolve = resolveName): Servers {
  const urls = (typeof options.url === "string" ? [options.url] : options.url).map(checkUrl);
  if (urls.length === 0) throw new TypeError("url: at least one address is required");
  const known = new Map<string, Server>();
  let servers: readonly Server[] = [];
  let isClosed = false;
  let turn = Math.floor(Math.random() * 1_000);
  const names = createNames(urls, resolve, (addresses) => {
    servers = [...new Set(addresses.map(serverAt))];
    // A server whose address has gone finishes its calls, and is forgotten when it is idle.
    for (const [id, server] of known) {
      if (!servers.includes(server) && !server.connection.isReady()) known.delete(id);
    }
  });

  function serverAt(address: Address): Server {
    const id = idOf(address);
    const found = known.get(id);
    if (found) return found;
    const connection = createConnection(options, address, () => leaveOut(server));
    const server: Server = { id, hash: hashOf(id), connection, awayUntil: 0 };
    known.set(id, server);
    return server;
  }

  function leaveOut(server: Server): void {
    server.awayUntil = performance.now() + awayMs * (0.5 + 0.5 * Math.random());
    names.refreshSoon();
  }

  /** Whether it may be picked. One that was left out is first connected to in the background. */
  function isThere(server: Server): boolean {
    if (server.awayUntil === 0) return true;
    if (performance.now() >= server.awayUntil) {
      server.awayUntil = Number.POSITIVE_INFINITY;
      connect(server).catch(() => {});
    }
    return false;
  }

  async function connect(server: Server): Promise<void> {
    try {
      const text = `no connection to ${server.id} within ${connectTimeoutMs / 1_000} s`;
      await within(server.connection.connect(), connectTimeoutMs, text);
      server.awayUntil = 0;
    } catch (error) {
      leaveOut(server);
      throw error;
    }
  }

  function choose(key: string | undefined, skip: ReadonlySet<Server> | undefined): Server {
    const there = servers.filter(isThere);
    const isOther = (server: Server) => !skip?.has(server);
    let candidates: readonly Server[] = skip ? there.filter(isOther) : there;
    if (candidates.length === 0) candidates = there;
    if (candidates.length === 0) candidates = servers.filter(isOther);
    if (candidates.length === 0) candidates = servers;
    const found =
      key === undefined ? candidates[turn++ % candidates.length] : best(candidates, hashOf(key));
    if (!found) throw new ConnectError("there is no address of a server", Code.Unavailable);
    return found;
  }

  return {
    pick(key, skip) {
      if (isClosed) throw new ConnectError("the client is closed", Code.FailedPrecondition);
      const resolving = names.resolving();
      return resolving ? resolving.then(() => choose(key, skip)) : choose(key, skip);
    },
    connect,
    leaveOut,
    hasOther: (skip) => servers.some((server) => !skip.has(server) && isThere(server)),
    isClosed: () => isClosed,
    close() {
      isClosed = true;
      names.close();
      for (const { connection } of known.values()) connection.close();
    },
  };
}

/** The server with the highest weight for a key. */
function best(servers: readonly Server[], keyHash: number): Server | undefined {
  let found: Server | undefined;
  let highest = -1;
  for (const server of servers) {
    const weight = weightOf(keyHash, server.hash);
    if (weight > highest) {
      highest = weight;
      found = server;
    }
  }
  return found;
}

function checkUrl(url: string): string {
  if (!/^https?:\/\//i.test(url)) {
    throw new TypeError(`url: ${url} does not begin with http:// or https://`);
  }
  if (!URL.canParse(url)) throw new TypeError(`url: ${url} is no URL`);
  return url;
}

function idOf({ url, ip }: Address): string {
  const { hostname, port, protocol } = new URL(url);
  return `${ip ?? hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}
