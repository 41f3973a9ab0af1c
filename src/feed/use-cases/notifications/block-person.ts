/** The use case that blocks a person: mutes, and takes out of every notification of one owner. */

import { requireTime } from "../../../platform/ports/call.ts";
import { allPages, type Page, type PageRequest } from "../../../platform/ports/pages.ts";
import type { Ref } from "../../../platform/ports/records.ts";
import type { Deps } from "../../ports/deps.ts";
import { eventActorRef, reactionRef } from "../../ports/records.ts";
import type { Inbox } from "../../rules/inbox.ts";
import { isEventKind } from "../../rules/kinds.ts";
import type { ListedGroup } from "./group-pages.ts";
import { inboxOf } from "./inbox.ts";
import {
  type Leaver,
  leaveReactions,
  retractEvents,
  shownVersionOf,
} from "./leave-notification.ts";
import { setPersonMuted } from "./muted-people.ts";

type BlockDeps = Pick<Deps, "engine" | "reader" | "unreadCounts">;

/** How many groups are read at once, and left concurrently. */
const pageSize = 48;

/**
 * Mutes a person, so that none comes in any more, and then takes the person out of each group by a
 * decision of its own. A group that fails does not stop the next one: its error is thrown at the
 * end. At the deadline the call ends. In both cases a repeated call does the rest. Returns whether
 * anything changed, and the inbox. Refusals: those of a mute. Retryable: DEADLINE.
 */
export async function blockPerson(
  deps: BlockDeps,
  block: Leaver,
): Promise<{ changed: boolean; inbox: Inbox }> {
  const { ownerId } = block;
  const isNew = await setPersonMuted(deps, { ...block, muted: true });
  const unread = (page: PageRequest) => deps.reader.unreadGroups(ownerId, false, page);
  const read = (page: PageRequest) => deps.reader.readGroups(ownerId, 0, page);
  let changed = isNew;
  const failures: unknown[] = [];
  // An unread group whose latest member leaves moves to an earlier page, so it is listed again.
  for (const list of [unread, read, unread]) {
    const readPage = (page: PageRequest): Promise<Page<ListedGroup>> => {
      requireTime(block);
      return list(page);
    };
    for await (const groups of allPages(pageSize, readPage)) {
      const results = await Promise.allSettled(await leaveAll(deps, block, groups));
      for (const result of results) {
        if (result.status === "rejected") failures.push(result.reason);
        else if (result.value) changed = true;
      }
    }
  }
  if (failures.length > 0) throw failures[0];
  return { changed, inbox: await inboxOf(deps, ownerId) };
}

/** Leaves the groups in which the person may be. */
async function leaveAll(
  deps: BlockDeps,
  block: Leaver,
  groups: readonly ListedGroup[],
): Promise<Promise<boolean>[]> {
  const { ownerId, userId } = block;
  const refs = groups.map(
    ({ target, kind }): Ref<"reaction" | "eventActor"> =>
      isEventKind(kind)
        ? eventActorRef({ ownerId, target, kind }, userId)
        : reactionRef(target, kind, userId),
  );
  const found = await deps.reader.many(refs);
  return groups.flatMap((group, i) => {
    if (found[i] === undefined && shownVersionOf(group, userId) === undefined) return [];
    const leaveGroup = isEventKind(group.kind) ? retractEvents : leaveReactions;
    return [leaveGroup(deps, block, group)];
  });
}
