/** What handlers read from the context of a call: the caller and the deadline. */
import type { Socket } from "node:net";
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

/** The time limit of most calls without a deadline of their own. */
export const defaultTimeoutMs = 10_000;
const sheetTimeoutMs = 600_000;

/** The time limit of a call without a deadline of its own, in ms. */
export const timeoutMsOf = (method: DescMethod): number =>
  sheetMethods.has(method) ? sheetTimeoutMs : defaultTimeoutMs;

/** The calling service, set by the interceptor `authenticate`. */
export const callerKey = createContextKey("", { description: "the calling service" });

/** The connection of the call, set by the listeners. */
export const socketKey = createContextKey<Socket | undefined>(undefined, {
  description: "the connection",
});

export const callerOf = (context: HandlerContext): string => context.values.get(callerKey);

/** When the caller stops waiting, in `performance.now()` milliseconds. */
export const deadlineOf = (context: HandlerContext): number =>
  performance.now() + (context.timeoutMs() ?? timeoutMsOf(context.method));
