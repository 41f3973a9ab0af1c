/** Calls of the clients, each to one of the servers, and their outcomes. */
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectError } from "@connectrpc/connect";
import { metadataOf, reasonOf } from "../../packages/client/src/errors.ts";
import { verdictOn } from "../../packages/client/src/retry-policy.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import type { Reason } from "../../src/platform/words/reasons.ts";
import type { Clients } from "../../test/support/servers/server.ts";
import type { Attempt } from "./record.ts";

/** A server, by the service that calls it. */
export type Server = (caller: string) => Clients;

/** The means by which a client calls the servers. */
export interface Calls {
  readonly random: () => number;
  /** Aborted when the client shall stop. */
  readonly over: AbortSignal;
  /** Calls one of the servers once. Throws an error that no server should answer. */
  once<A>(call: (clients: Clients, server: Server) => Promise<A>, caller?: string): Tried<A>;
  /** Calls the servers until one answers, at most so often, and adds every call to `attempts`. */
  send<A>(
    attempts: Attempt<A>[],
    call: (clients: Clients, server: Server) => Promise<A>,
    options?: { readonly caller?: string; readonly tries?: number },
  ): Promise<A | undefined>;
  /** Waits for up to so long, or until the client shall stop. */
  pause(mostMs: number): Promise<void>;
}

type Tried<A> = Promise<Attempt<A>>;

/** Between two tries, at most. */
const retryMs = 300;

/** As most clients do: an outage is shorter than all of these tries, a stopped server is not. */
const defaultTries = 6;

export function createCalls(
  servers: readonly Server[],
  random: () => number,
  over: AbortSignal,
): Calls {
  const oneOf = () => servers[Math.floor(random() * servers.length)] as Server;
  const pause = (mostMs: number) =>
    sleep(random() * mostMs, undefined, { signal: over }).catch(() => {});

  async function once<A>(
    call: (clients: Clients, server: Server) => Promise<A>,
    caller = "chaos",
  ): Tried<A> {
    const server = oneOf();
    const begun = { start: performance.now(), time: Date.now() };
    try {
      const answer = await call(server(caller), server);
      return { ...begun, end: performance.now(), answer };
    } catch (thrown) {
      return { ...begun, end: performance.now(), error: errorOf(thrown) };
    }
  }
  return {
    random,
    over,
    once,
    pause,
    async send(attempts, call, { caller, tries = defaultTries } = {}) {
      for (let left = tries; left > 0 && !(over.aborted && attempts.length > 0); left--) {
        const last = await once(call, caller);
        attempts.push(last);
        if (!last.error?.retryable) return last.answer;
        await pause(retryMs);
      }
      return undefined;
    },
  };
}

/** The refusal or the ambiguous result of a call. Throws any other error. */
function errorOf(thrown: unknown): DomainError {
  const error = ConnectError.from(thrown);
  const reason = reasonOf(error);
  if (verdictOn(error).retry !== "never")
    return new DomainError("STORE_UNAVAILABLE", error.message);
  if (reason === undefined || reason === "INVALID_REQUEST") throw error;
  return new DomainError<Reason>(reason, error.rawMessage, metadataOf(error));
}
