import { createContextKey, type HandlerContext } from "@connectrpc/connect";

/** A call without a deadline of its own is given up after this long. */
export const defaultTimeoutMs = 10_000;

/** The service that calls, as the `caller` interceptor has found it. */
export const callerKey = createContextKey("", { description: "the calling service" });

export const callerOf = (context: HandlerContext): string => context.values.get(callerKey);

/** When the caller stops waiting, in `performance.now()` milliseconds. */
export const deadlineOf = (context: HandlerContext): number =>
  performance.now() + (context.timeoutMs() ?? defaultTimeoutMs);
