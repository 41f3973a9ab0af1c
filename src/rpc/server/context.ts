/** What handlers read from the context of a call: who calls, and the deadline. */
import type { Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { type ContextValues, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Identity } from "../../app/ports/identity.ts";
import { asService, type Caller } from "../../domain/caller.ts";
import { BulkGrantService } from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";

const { uploadBulkGrant, checkSheet, reverseBulkGrant } = BulkGrantService.method;

/** The methods that read or store a whole sheet. */
const sheetMethods: ReadonlySet<DescMethod> = new Set([
  uploadBulkGrant,
  checkSheet,
  reverseBulkGrant,
]);

/** Longer deadlines are refused: timers have a maximum, and no stream lasts that long. */
export const maxTimeoutMs = 3_600_000;

/** The time limit of most calls without a deadline of their own. */
export const defaultTimeoutMs = 10_000;
const sheetTimeoutMs = 600_000;

/** The time limit of a call without a deadline of its own, in ms. */
export const timeoutMsOf = (method: DescMethod): number =>
  sheetMethods.has(method) ? sheetTimeoutMs : defaultTimeoutMs;

const nobody: Identity = { caller: asService(""), scopes: new Set() };

/** The verified caller, set by the interceptor `authenticateBy`. */
export const identityKey = createContextKey(nobody, { description: "who calls" });

/** The connection of the call, set by the listeners. */
export const socketKey = createContextKey<Socket | undefined>(undefined, {
  description: "the connection",
});

export const identityOf = (values: ContextValues): Identity => values.get(identityKey);

export const callerOf = (context: HandlerContext): Caller => identityOf(context.values).caller;

/**
 * How much earlier than a deadline the answer is due, in ms: the caller gets the reason only before
 * it gives up.
 */
export const marginMs = (timeoutMs: number): number => Math.min(100, Math.max(timeoutMs, 0) / 10);

/** When the answer is due, in `performance.now()` milliseconds. */
export function deadlineOf(context: HandlerContext): number {
  const timeoutMs = context.timeoutMs();
  if (timeoutMs === undefined) return performance.now() + timeoutMsOf(context.method);
  return performance.now() + timeoutMs - marginMs(timeoutMs);
}
