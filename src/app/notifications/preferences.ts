/** The use cases that read and replace what an owner has muted. */
import { emptyInbox, type Preferences } from "../../domain/inbox.ts";
import type { Deps } from "../ports/deps.ts";
import { inboxRef } from "../ports/records.ts";
import { inboxOf } from "./inbox.ts";

/** Reads the preferences of an owner. An owner without any mutes nothing. */
export async function preferencesOf(
  deps: Pick<Deps, "reader">,
  ownerId: string,
): Promise<Preferences> {
  return (await inboxOf(deps, ownerId)).preferences;
}

/** Replaces the preferences of an owner. What is unread already stays unread. */
export function updatePreferences(
  deps: Pick<Deps, "engine">,
  input: {
    readonly ownerId: string;
    readonly preferences: Preferences;
    readonly deadline?: number | undefined;
  },
): Promise<Preferences> {
  const { ownerId, deadline } = input;
  const ref = inboxRef(ownerId);
  const preferences = {
    ...input.preferences,
    mutedKinds: input.preferences.mutedKinds.toSorted(),
  };
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline,
    decide(tx) {
      tx.put(ref, { ...(tx.get(ref) ?? emptyInbox), preferences });
      return preferences;
    },
  });
}
