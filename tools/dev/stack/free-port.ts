/** Finds free ports. */
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

const HOST = "127.0.0.1";
const TRIES = 100;
const MAX_STARTS = 3;

/**
 * Below the ports that systems give to outgoing connections and to whoever asks for any port: one
 * of those may be taken again before it is used.
 */
const ANY = { from: 20_000, to: 30_000 };

/**
 * Finds one free port for each preferred port: that port or the next free one above it, any port
 * for 0. While this process runs, no other process finds its ports, so that two stacks that start
 * at once never choose the same one, and a server that is killed finds its port free again.
 */
export async function findPorts<const T extends readonly number[]>(
  ...preferred: T
): Promise<{ [K in keyof T]: number }> {
  const ports: number[] = [];
  for (const port of preferred) ports.push(await (port === 0 ? takeAny() : takeFrom(port)));
  return ports as { [K in keyof T]: number };
}

/** Calls `start` again when another program took one of its ports before their use. */
export async function retryLostPorts<T>(start: () => Promise<T>): Promise<T> {
  for (let starts = 1; ; starts++) {
    try {
      return await start();
    } catch (error) {
      if (starts === MAX_STARTS || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

async function takeAny(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(ANY.from, ANY.to);
    if (await take(port)) return port;
  }
  throw new Error(`no free port between ${ANY.from} and ${ANY.to}`);
}

async function takeFrom(first: number): Promise<number> {
  for (let port = first; port < first + TRIES; port++) if (await take(port)) return port;
  throw new Error(`no free port between ${first} and ${first + TRIES - 1}`);
}

/**
 * Takes the UDP port of this number, which stands for the TCP port in all processes that look for
 * one. The kernel releases it when this process ends. False when either port is not free.
 */
async function take(port: number): Promise<boolean> {
  const socket = createSocket("udp4").unref();
  try {
    socket.bind({ address: HOST, port, exclusive: true });
    await once(socket, "listening");
  } catch {
    socket.close();
    return false;
  }
  if (await isFree(port)) return true;
  socket.close();
  return false;
}

/** Whether this process can listen on the TCP port. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen({ host: HOST, port, exclusive: true });
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
