/** What handlers read from the context of a call: the caller and the deadline. */
import { createContextKey, type HandlerContext } from "@connectrpc/connect";

/** The time limit of a call without a deadline of its own. */
export const defaultTimeoutMs = 10_000;

/** The calling service, set by the interceptor `authenticate`. */
export const callerKey = createContextKey("", { description: "the calling service" });

export const callerOf = (context: HandlerContext): string => context.values.get(callerKey);

/** When the caller stops waiting, in `performance.now()` milliseconds. */
export const deadlineOf = (context: HandlerContext): number =>
  performance.now() + (context.timeoutMs() ?? defaultTimeoutMs);
