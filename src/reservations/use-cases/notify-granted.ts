/** Notifies a user of a reserved grant, in programs that do so. */

import { type NotifyDeps, notifyMember } from "../../feed/use-cases/notifications/notify.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Granted } from "./execute.ts";

/**
 * Notifies the user of a reserved grant; does nothing, and sends no request, in other programs. The
 * event id names the reservation, so repeating it changes nothing.
 *
 * The points are granted before, by a transaction of their own: a busy inbox never delays a grant
 * or makes it late. A crash in between is mended by the next attempt of the run, which finds the
 * record done and comes here again. Therefore an attempt of a run throws the retryable error of a
 * notification. A sweep finds pending records only and would not come back to this one, so it
 * notifies in the background. Throws retryable errors with a message that says what is left to
 * do.
 */
export async function notifyGranted(
  deps: NotifyDeps,
  { reservation, notifies }: Granted,
): Promise<void> {
  if (!notifies) return;
  const { programId, reservationId, userId, points, cause } = reservation;
  try {
    await notifyMember(deps, {
      programId,
      userId,
      kind: "points-granted",
      eventId: `r.${programId}.${reservationId}`,
      label: String(points),
      cause,
    });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const message = `the points are granted, but their user is not notified: ${error.message}`;
    throw new DomainError(error.reason, message, error.metadata);
  }
}
