/** What handlers read from the context of a call: the caller and the deadline. */
import type { DescMethod } from "@bufbuild/protobuf";
import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { BulkGrantService } from "../../gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";

const { uploadBulkGrant, validateBulkGrant, reverseBulkGrant } = BulkGrantService.method;

/** The methods that read or store a whole sheet. */
const sheetMethods: ReadonlySet<DescMethod> = new Set([
  uploadBulkGrant,
  validateBulkGrant,
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

/** The calling service, set by the interceptor `authenticate`. */
export const callerKey = createContextKey("", { description: "the calling service" });

export const callerOf = (context: HandlerContext): string => context.values.get(callerKey);

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
