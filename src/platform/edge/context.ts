/** The values that handlers read from the context of a call: its caller and its deadline. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { type ContextValues, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Call } from "../ports/call.ts";
import type { Identity } from "../ports/identity.ts";
import type { StreamCall } from "../ports/streams.ts";
import type { Audit } from "../words/audit.ts";
import { asService, type Caller } from "../words/caller.ts";
import { callKey } from "./calls.ts";
import { limitsOf } from "./method-limits.ts";
import type { ReceivedBytes } from "./received-bytes.ts";

/** Longer deadlines are shortened to this; no stream but a Watch of health lasts longer. */
export const maxTimeoutMs = 3_600_000;

const nobody: Identity = { caller: asService(""), scopes: new Set() };

/** The verified caller, set by the interceptor `authenticateBy`. */
export const identityKey = createContextKey(nobody, { description: "who calls" });

/** The connection of the call, set by the listeners. */
export const socketKey = createContextKey<Socket | undefined>(undefined, {
  description: "the connection",
});

/** Finds out again who calls, set by admission. Throws what a new call would be refused with. */
export const authenticateAgainKey = createContextKey<() => Identity | Promise<Identity>>(
  () => nobody,
  { description: "who calls now" },
);

/** The bytes of the call's body that are held, set by the admission where they are counted. */
export const receivedKey = createContextKey<ReceivedBytes | undefined>(undefined, {
  description: "the bytes that were received",
});

/** Gives back what the admission has taken for the time of the call. */
export const releaseKey = createContextKey(() => {}, { description: "what the end releases" });

export const identityOf = (values: ContextValues): Identity => values.get(identityKey);

/** The id of the request in the answer and in the line of the call. */
export const requestIdOf = ({ values }: HandlerContext): string | undefined =>
  values.get(callKey)?.requestId;

export const callerOf = (context: HandlerContext): Caller => identityOf(context.values).caller;

export const streamCallOf = (context: HandlerContext): StreamCall => ({
  service: callerOf(context).service,
  signal: context.signal,
});

/**
 * How much earlier than a deadline the answer is due, in ms: the caller gets the reason only before
 * it gives up.
 */
export const marginMs = (timeoutMs: number): number => Math.min(100, Math.max(timeoutMs, 0) / 10);

/** When the answer is due, in `performance.now()` milliseconds. */
function deadlineOf(context: HandlerContext): number {
  const timeoutMs = context.timeoutMs();
  const limitMs = limitsOf(context.method).timeMs;
  if (timeoutMs === undefined) return performance.now() + limitMs;
  return performance.now() + Math.min(limitMs, timeoutMs - marginMs(timeoutMs));
}

/** The caller and the limits of a call; `validateOnly` is a field of some requests. */
export const callOf = (
  context: HandlerContext,
  { validateOnly = false }: { readonly validateOnly?: boolean } = {},
): Call => ({
  caller: callerOf(context),
  deadline: deadlineOf(context),
  validateOnly,
  audit: auditOf(context),
});

/** Who makes the call, for the act of its change; undefined for a method that is not audited. */
export function auditOf(context: HandlerContext): Audit | undefined {
  const { method } = context;
  if (!limitsOf(method).isAudited) return undefined;
  const requestId = requestIdOf(context) ?? randomUUID();
  return { caller: callerOf(context), via: "CALL", method: method.name, requestId };
}
