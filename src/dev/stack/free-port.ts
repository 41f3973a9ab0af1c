import type { Server } from "node:net";
import { createServer } from "node:net";

const HOST = "127.0.0.1";
const TRIES = 100;

/**
 * Finds one free port for each wish: the wished port or the next free one above it, any port for 0.
 * All are held open until all are found, so that no two are the same.
 */
export async function findPorts<const T extends readonly number[]>(
  ...wishes: T
): Promise<{ [K in keyof T]: number }> {
  const held: Server[] = [];
  try {
    for (const wish of wishes) held.push(await holdFrom(wish));
    return held.map(portOf) as { [K in keyof T]: number };
  } finally {
    await Promise.all(held.map(close));
  }
}

async function holdFrom(wish: number): Promise<Server> {
  for (let port = wish; port < wish + TRIES; port++) {
    const server = await hold(port);
    if (server !== undefined) return server;
  }
  throw new Error(`no free port between ${wish} and ${wish + TRIES - 1}`);
}

/** Listens on the port, or answers undefined when that is not possible. */
function hold(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen({ host: HOST, port, exclusive: true }, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not a TCP server");
  return address.port;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
