/** Begins the calls of all connections round robin: one connection's burst delays no other. */
import type { Http2Session, ServerHttp2Stream } from "node:http2";

/**
 * How many calls begin in one turn of the event loop: far fewer than the thousand that one
 * connection may send at once, and about as many as busy clients do.
 */
const defaultCallsPerTurn = 32;

/**
 * Wraps a listener of a server's streams: it gets at most so many in one turn of the event loop,
 * and the waiting ones are taken from their connections in rotation. A stream that ended while it
 * waited is dropped.
 */
export function byTurns<Rest extends unknown[]>(
  begin: (stream: ServerHttp2Stream, ...rest: Rest) => void,
  callsPerTurn = defaultCallsPerTurn,
): (stream: ServerHttp2Stream, ...rest: Rest) => void {
  /** The calls that wait, by their connection; the connection that is served next is first. */
  const waiting = new Map<Http2Session | undefined, [ServerHttp2Stream, ...Rest][]>();
  let left = callsPerTurn;
  let isScheduled = false;

  function nextTurn(): void {
    isScheduled = false;
    left = callsPerTurn;
    for (const [session, calls] of waiting) {
      if (left === 0) break;
      const call = calls.shift();
      // Set again, a connection comes after all other connections.
      waiting.delete(session);
      if (calls.length > 0) waiting.set(session, calls);
      if (call && !call[0].destroyed) start(...call);
    }
    if (waiting.size > 0) schedule();
  }

  function start(...call: [ServerHttp2Stream, ...Rest]): void {
    left -= 1;
    schedule();
    begin(...call);
  }

  function schedule(): void {
    if (!isScheduled) setImmediate(nextTurn);
    isScheduled = true;
  }

  return (...call) => {
    const [stream] = call;
    if (left > 0) {
      start(...call);
      return;
    }
    // Without a listener, a stream that its client breaks would end the process.
    stream.on("error", () => {});
    const calls = waiting.get(stream.session);
    if (calls) calls.push(call);
    else waiting.set(stream.session, [call]);
  };
}
