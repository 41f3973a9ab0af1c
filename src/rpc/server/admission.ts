/** Lets calls in by their headers alone, before a byte of their bodies is read. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Logger } from "pino";
import type { Authenticate } from "../../app/ports/identity.ts";
import { requireScope } from "./authorize.ts";
import { logCall } from "./call-log.ts";
import { authenticateAgainKey, identityKey, socketKey } from "./context.ts";
import { createRateLimit } from "./limit-rate.ts";
import { noteUnread } from "./malformed.ts";

/**
 * Decides on a call. Both ports and all protocols ask it first: it is Connect's request gate, and
 * unary gRPC calls ask it as well. Throws a ConnectError for a call that is refused, whose body is
 * then neither read nor parsed.
 */
export type Gate = (context: HandlerContext) => Promise<void>;

interface AdmissionDeps {
  readonly log: Logger;
  readonly authenticate: Authenticate;
  /** How many calls a second one service may send. Absent: any number. */
  readonly callsPerSecond?: number | undefined;
}

/**
 * Finds out who calls, counts the call against the rate of its service, and requires the scope of
 * its method. A call counts whatever it is refused for later. Refusals: UNAUTHENTICATED,
 * KEYS_UNAVAILABLE, RATE_LIMITED, PERMISSION_DENIED.
 */
export function admitCallers({ log, authenticate, callsPerSecond }: AdmissionDeps): Gate {
  const countCall = callsPerSecond === undefined ? undefined : createRateLimit(callsPerSecond);
  return async (context) => {
    const { method, values, requestHeader } = context;
    const { failed } = logCall(log, method, values);
    try {
      const credentials = {
        header: (name: string) => requestHeader.get(name),
        socket: values.get(socketKey),
      };
      const found = authenticate(credentials);
      values.set(authenticateAgainKey, () => authenticate(credentials));
      const identity = found instanceof Promise ? await found : found;
      values.set(identityKey, identity);
      countCall?.(identity.caller.service);
      requireScope(identity, method);
    } catch (error) {
      throw failed(error);
    }
    noteUnread(context);
  };
}

/** Lets everybody in: the standard services need no caller. */
export const admitAnyone: Gate = async (context) => noteUnread(context);
