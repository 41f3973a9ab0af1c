/** The use case that returns the points of a use, or of a capture of a hold. */

import { refund } from "../../points/rules/refund.ts";
import {
  type ChangeResult,
  changeAccount,
  entryNotFound,
  type RefundInput,
  refundUse,
} from "../../points/use-cases/commands.ts";
import type { Deps } from "../ports/deps.ts";
import { holdRef } from "../ports/records.ts";
import { spentByCapture, withRefund } from "../rules/refund.ts";
import { type HoldChanger, holdNotFound, requireMayChange } from "./change-hold.ts";

/**
 * Returns the points of a use, or with a hold of its capture, or a part of them. Refusals: those of
 * `refundUse` and `requireMayChange`, HOLD_NOT_FOUND, and LEDGER_ENTRY_NOT_FOUND when the hold has
 * no such capture.
 */
export function refundPoints(
  deps: Pick<Deps, "engine" | "programs">,
  input: RefundInput & HoldChanger & { readonly holdId?: string | undefined },
): Promise<ChangeResult> {
  const { programId, userId, useEventId, holdId, points, expiredPointsPolicy } = input;
  if (holdId === undefined) return refundUse(deps, input);
  const ref = holdRef({ programId, holdId });
  return changeAccount(deps, {
    input,
    operation: "refund",
    parameters: { useEventId, holdId, points, expired: expiredPointsPolicy },
    reads: [ref],
    decide(state, event, tx) {
      const hold = tx.get(ref);
      if (hold?.userId !== userId) throw holdNotFound(holdId);
      requireMayChange(hold, input);
      const spent = spentByCapture(hold, useEventId);
      if (!spent) throw entryNotFound(`capture ${useEventId} of the hold ${holdId}`);
      const change = refund(state, event, spent, points, expiredPointsPolicy);
      tx.put(ref, withRefund(hold, useEventId, change.entry.points));
      return change;
    },
  });
}
