/** Trusts the header in which a service names itself: for servers on loopback only. */
import type { Authenticate } from "../ports/identity.ts";
import { asService } from "../words/caller.ts";
import { DomainError } from "../words/errors.ts";
import { servicePattern } from "./ids.ts";

const callerHeader = "meguri-caller";

/** Permits everything to whoever names a service. Throws UNAUTHENTICATED without a name. */
export const authenticateByHeader: Authenticate = ({ header }) => {
  const service = header(callerHeader) ?? "";
  if (!servicePattern.test(service)) {
    throw new DomainError(
      "UNAUTHENTICATED",
      `the header ${callerHeader} has to name the calling service: 1 to 64 visible ASCII ` +
        'characters without "#"',
    );
  }
  return { caller: asService(service), scopes: "all" };
};
