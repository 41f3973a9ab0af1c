/** Where an attack takes place, and how it holds its connections. */
import { type ClientHttp2Session, connect as connectHttp2, type Settings } from "node:http2";
import { connect } from "node:net";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Ports } from "./target.ts";

export interface Site extends Ports {
  /** A token of the attacker, who may call everything. */
  readonly token: string;
  readonly signal: AbortSignal;
  /** Counts something that was sent or answered. */
  count(what: string): void;
}

/**
 * Runs a step again and again until the signal, so many side by side. `n` counts all of them. A
 * step that fails, as on a connection that the server has just closed, is not counted as sent.
 */
export async function repeat(
  signal: AbortSignal,
  width: number,
  step: (n: number) => Promise<void>,
): Promise<void> {
  let n = 0;
  const run = async () => {
    while (!signal.aborted) {
      await step(n++).catch(() => undefined);
      // Calls that fail at once would otherwise keep this process from seeing why.
      await setImmediate();
    }
  };
  await Promise.all(Array.from({ length: width }, run));
}

export const pause = (signal: AbortSignal, ms: number) =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/** Keeps so many connections of HTTP/2 open and runs the attack on each until it is closed. */
export const inSessions = (
  { port, signal }: Site,
  width: number,
  run: (session: ClientHttp2Session, closed: AbortSignal) => Promise<void>,
  settings: Settings = {},
) =>
  repeat(signal, width, async () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`, { settings });
    session.setMaxListeners(0);
    const closing = new AbortController();
    const stop = () => session.destroy();
    signal.addEventListener("abort", stop);
    session.on("error", () => undefined);
    session.on("close", () => {
      signal.removeEventListener("abort", stop);
      closing.abort();
    });
    await run(session, closing.signal);
    await pause(signal, 10);
  });

/** Opens a connection, sends this, perhaps a space every so often, and waits until it is closed. */
export async function hold(
  { signal }: Site,
  port: number,
  beginning: string | Buffer,
  everyMs?: number,
): Promise<string> {
  const socket = connect(port, "127.0.0.1", () => socket.write(beginning));
  const stop = () => socket.destroy();
  signal.addEventListener("abort", stop);
  const more = everyMs === undefined ? undefined : setInterval(() => socket.write(" "), everyMs);
  socket.on("error", () => undefined);
  socket.resume();
  await new Promise((resolve) => socket.on("close", resolve));
  clearInterval(more);
  signal.removeEventListener("abort", stop);
  return "closed";
}
