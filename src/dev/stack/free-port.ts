/** Finds free ports. */
import { randomInt } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import type { Server } from "node:net";
import { createServer } from "node:net";

const HOST = "127.0.0.1";
const TRIES = 100;

/**
 * Below the ports that systems give to outgoing connections and to whoever asks for any port: one
 * of those may be taken again before it is used.
 */
const ANY = { from: 20_000, to: 30_000 };

/**
 * Finds one free port for each preferred port: that port or the next free one above it, any port
 * for 0. Holds each port open until all are found, so that no two are the same. While this process
 * runs, no other one finds its ports for 0: a server that is killed finds its port free again.
 */
export async function findPorts<const T extends readonly number[]>(
  ...preferred: T
): Promise<{ [K in keyof T]: number }> {
  const held: Server[] = [];
  try {
    for (const port of preferred) held.push(await (port === 0 ? holdAny() : holdFrom(port)));
    return held.map(portOf) as { [K in keyof T]: number };
  } finally {
    await Promise.all(held.map(close));
  }
}

async function holdAny(): Promise<Server> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(ANY.from, ANY.to);
    const reserved = await reserve(port);
    const server = reserved && (await hold(port));
    if (server !== undefined) return server;
    reserved?.close();
  }
  throw new Error(`no free port between ${ANY.from} and ${ANY.to}`);
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

/**
 * Takes the UDP port of this number, which stands for the TCP port in all processes that look for
 * one. The kernel releases it when this process ends. Undefined when it is taken.
 */
function reserve(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4").unref();
    socket.once("error", () => {
      socket.close();
      resolve(undefined);
    });
    socket.bind({ address: HOST, port, exclusive: true }, () => resolve(socket));
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
