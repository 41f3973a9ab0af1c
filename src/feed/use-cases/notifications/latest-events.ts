/** Reads the latest events of notifications: their groups name only the actors and versions. */

import type { Deps } from "../../ports/deps.ts";
import { notificationEventRef } from "../../ports/records.ts";
import type { Event } from "../../rules/event.ts";
import { isEventKind } from "../../rules/kinds.ts";
import type { Member } from "../../rules/unread-group.ts";
import type { GroupName } from "./named-groups.ts";

/** A notification whose latest events are not read yet. */
interface Named {
  readonly id: GroupName;
  readonly latestMembers: readonly Member[];
}

/** Adds their latest events to notifications. Events whose records are deleted are left out. */
export async function withLatestEvents<N extends Named>(
  { reader }: Pick<Deps, "reader">,
  notifications: readonly N[],
): Promise<(N & { latestEvents: readonly Event[] })[]> {
  const refs = notifications.map(({ id, latestMembers }) =>
    isEventKind(id.kind)
      ? latestMembers.map(({ userId, version }) => notificationEventRef(id, userId, version))
      : [],
  );
  const found = await reader.many(refs.flat());
  let read = 0;
  return notifications.map((notification, i) => {
    const count = refs[i]?.length ?? 0;
    const events = found.slice(read, read + count);
    read += count;
    return { ...notification, latestEvents: events.filter((event) => event !== undefined) };
  });
}
