/** The events by which the rows of bulk grants change accounts. */
import { noCaller } from "../../domain/caller.ts";
import { type EventRef, eventName } from "../../domain/ledger.ts";
import { eventRef, type Ref } from "../ports/records.ts";
import { requestHash } from "../shared/idempotency.ts";

/** The event of a user's row. Its id is unique: the key of an account contains the user. */
export const rowEvent = (bulkGrantId: string, userId: string): EventRef => ({
  origin: "b",
  eventId: `${bulkGrantId}_${userId}`,
});

/** The key of that event: it exists if the row is granted. */
export const rowEventKey = (programId: string, bulkGrantId: string, userId: string): Ref<"event"> =>
  eventRef(programId, userId, eventName(rowEvent(bulkGrantId, userId)));

/**
 * The hash of a row's request. Without the submitter and the reason: a row of a later revision with
 * the same points is the same grant.
 */
export const rowHash = (
  parameters: { readonly points: number } | { readonly reverses: string },
): string => requestHash("bulk grant", noCaller, parameters);
