/** Finds out which service calls. */
import type { Interceptor } from "@connectrpc/connect";
import { DomainError } from "../../domain/errors.ts";
import { callerKey } from "./context.ts";

const callerHeader = "meguri-caller";

const callerPattern = /^[!-"$-~]{1,64}$/;

/**
 * Reads the calling service from the header, and throws UNAUTHENTICATED when it is missing. The
 * header is trusted: a verified identity (a token, a client certificate) has to replace it here.
 */
export const authenticate: Interceptor = (next) => (req) => {
  const caller = req.header.get(callerHeader) ?? "";
  if (!callerPattern.test(caller)) {
    throw new DomainError(
      "UNAUTHENTICATED",
      `the header ${callerHeader} has to name the calling service: 1 to 64 visible ASCII ` +
        'characters without "#"',
    );
  }
  req.contextValues.set(callerKey, caller);
  return next(req);
};
