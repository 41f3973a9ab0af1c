/** Lets work on many records give up a throttled one soon, because the next ones may be free. */
import type { Deps } from "../ports/deps.ts";

/** The same dependencies, whose transactions end as THROTTLED soon (see `TransactionRequest`). */
export const failingSoon = <D extends Pick<Deps, "engine">>(deps: D): D => ({
  ...deps,
  engine: { transact: (request) => deps.engine.transact({ ...request, failsSoon: true }) },
});
