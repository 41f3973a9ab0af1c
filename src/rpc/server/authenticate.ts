import type { Interceptor } from "@connectrpc/connect";
import { DomainError } from "../../domain/errors.ts";
import { callerKey } from "./context.ts";

const callerHeader = "meguri-caller";

const callerPattern = /^[!-"$-~]{1,64}$/;

/**
 * Finds out which service calls. The header is believed: this is the one place where a verified
 * identity, of a token or a client certificate, is to take its stead.
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
