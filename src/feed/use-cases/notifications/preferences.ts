/** The use cases that read and change what an owner has muted. */

import type { CallLimits } from "../../../platform/ports/call.ts";
import { changeRecord } from "../../../platform/work/change-record.ts";
import { etagOf, requireEtag } from "../../../platform/work/etags.ts";
import type { Deps } from "../../ports/deps.ts";
import { inboxRef } from "../../ports/records.ts";
import { emptyInbox, type Preferences } from "../../rules/inbox.ts";
import { inboxOf } from "./inbox.ts";

/** The preferences of an owner with their etag. */
export interface OwnerPreferences extends Preferences {
  readonly ownerId: string;
  readonly etag: string;
}

/** Reads the preferences of an owner. An owner without any mutes nothing. */
export async function preferencesOf(
  deps: Pick<Deps, "reader">,
  ownerId: string,
): Promise<OwnerPreferences> {
  return withEtag(ownerId, (await inboxOf(deps, ownerId)).preferences);
}

/**
 * Changes some preferences of an owner. Unread notifications stay unread. An update that changes
 * nothing is accepted with any etag, so that it can be sent again after an ambiguous result.
 * Refusal: ETAG_MISMATCH for an etag that is not the present one.
 */
export async function updatePreferences(
  deps: Pick<Deps, "engine">,
  input: CallLimits & {
    readonly ownerId: string;
    readonly changes: Partial<Preferences>;
    readonly etag: string;
  },
): Promise<OwnerPreferences> {
  const { ownerId, changes, etag } = input;
  const changed = await changeRecord(deps, { ref: inboxRef(ownerId), call: input }, (stored) => {
    const inbox = stored ?? emptyInbox;
    const { allMuted, mutedKinds, mutedEventKinds } = { ...inbox.preferences, ...changes };
    const preferences = {
      allMuted,
      mutedKinds: mutedKinds.toSorted(),
      mutedEventKinds: mutedEventKinds.toSorted(),
    };
    const present = contentEtag(inbox.preferences);
    if (contentEtag(preferences) === present) return stored;
    requireEtag(etag, present);
    return { ...inbox, preferences };
  });
  return withEtag(ownerId, (changed.record ?? emptyInbox).preferences);
}

const contentEtag = ({ allMuted, mutedKinds, mutedEventKinds }: Preferences): string =>
  etagOf([allMuted, mutedKinds, mutedEventKinds]);

const withEtag = (ownerId: string, preferences: Preferences): OwnerPreferences => ({
  ...preferences,
  ownerId,
  etag: contentEtag(preferences),
});
