/** The use case that returns the points of a use, or of a capture of a hold. */

import { eventRef } from "../../points/ports/records.ts";
import { eventName } from "../../points/rules/ledger.ts";
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
import { captureEvent } from "../rules/hold.ts";
import { spentByCapture } from "../rules/refund.ts";
import { type HoldChanger, holdNotFound, requireMayChange } from "./change-hold.ts";

/**
 * Returns the points of a use, or with a hold of its capture, or a part of them. Refusals: those of
 * `refundUse` and `requireMayChange`, HOLD_NOT_FOUND, and LEDGER_ENTRY_NOT_FOUND when the hold has
 * no such capture.
 */
export async function refundPoints(
  deps: Pick<Deps, "engine" | "programs" | "reader">,
  input: RefundInput & HoldChanger & { readonly holdId?: string | undefined },
): Promise<ChangeResult> {
  const { programId, userId, useEventId, holdId, points, expiredPointsPolicy } = input;
  if (holdId === undefined) return refundUse(deps, input);
  const ref = eventRef(programId, userId, eventName(captureEvent(holdId, useEventId)));
  const holdName = holdRef({ programId, holdId });
  // What is read of a hold never changes, so the transaction checks only that there is none.
  const known = (await deps.reader.get(holdName))?.value;
  return changeAccount(deps, {
    input,
    operation: "refund",
    parameters: { useEventId, holdId, points, expired: expiredPointsPolicy },
    reads: [ref],
    decide(state, event, tx) {
      const hold = known ?? tx.get(holdName);
      if (hold?.userId !== userId) throw holdNotFound(holdId);
      requireMayChange(hold, input);
      const captured = tx.get(ref);
      if (!captured) throw entryNotFound(`capture ${useEventId} of the hold ${holdId}`);
      const spent = spentByCapture(hold, captured);
      const change = refund(state, event, spent, points, expiredPointsPolicy);
      const reversedPoints = captured.reversedPoints + change.entry.points;
      tx.put(ref, { ...captured, reversedPoints });
      return change;
    },
  });
}
