/** The use case that releases a hold when its time has come. */

import type { Deps } from "../ports/deps.ts";
import { isDue, timeOut } from "../rules/hold.ts";
import { type ChangedHold, changeHold, type HoldCall, putHold } from "./change-hold.ts";

/**
 * Releases a hold that is due and has not ended, also on a frozen account. Returns it as it is now,
 * with an entry if this call has released it. May be repeated. Refusals: PROGRAM_NOT_FOUND,
 * HOLD_NOT_FOUND.
 */
export function timeOutHold(
  deps: Pick<Deps, "engine" | "programs">,
  call: HoldCall,
): Promise<ChangedHold> {
  return changeHold(deps, call, ({ hold, account, now: { wall }, tx }) =>
    isDue(hold, wall) ? putHold(tx, timeOut(account, hold, wall)) : { hold },
  );
}
