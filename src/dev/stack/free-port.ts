/** Finds free ports. */
import type { Server } from "node:net";
import { createServer } from "node:net";

const HOST = "127.0.0.1";
const TRIES = 100;

/**
 * Finds one free port for each preferred port: that port or the next free one above it, any port
 * for 0. Holds each port open until all are found, so that no two are the same.
 */
export async function findPorts<const T extends readonly number[]>(
  ...preferred: T
): Promise<{ [K in keyof T]: number }> {
  const held: Server[] = [];
  try {
    for (const port of preferred) held.push(await holdFrom(port));
    return held.map(portOf) as { [K in keyof T]: number };
  } finally {
    await Promise.all(held.map(close));
  }
}

async function holdFrom(first: number): Promise<Server> {
  for (let port = first; port < first + TRIES; port++) {
    const server = await hold(port);
    if (server !== undefined) return server;
  }
  throw new Error(`no free port between ${first} and ${first + TRIES - 1}`);
}

/** Listens on the port; undefined when that is not possible. */
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
