/** Finds out who calls, before anything else of a call is looked at. */
import type { Interceptor } from "@connectrpc/connect";
import type { Authenticate } from "../../app/ports/identity.ts";
import { identityKey, socketKey } from "./context.ts";

/** Sets the identity of the caller. Throws UNAUTHENTICATED. */
export const authenticateBy =
  (authenticate: Authenticate): Interceptor =>
  (next) =>
  async (req) => {
    const identity = authenticate({
      header: (name) => req.header.get(name),
      socket: req.contextValues.get(socketKey),
    });
    req.contextValues.set(identityKey, identity instanceof Promise ? await identity : identity);
    return next(req);
  };
