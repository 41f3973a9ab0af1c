/** The use case that blocks a person: mutes, and takes out of every notification of one owner. */

import { badCursor, type Page, type PageRequest } from "../../../platform/ports/pages.ts";
import type { Ref } from "../../../platform/ports/records.ts";
import type { Deps } from "../../ports/deps.ts";
import { eventActorRef, reactionRef } from "../../ports/records.ts";
import type { Inbox } from "../../rules/inbox.ts";
import { isEventKind } from "../../rules/kinds.ts";
import { answerMs, maxListed } from "./commands.ts";
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

/** The result of one call. With a cursor, the person may be in further groups. */
interface Blocked {
  readonly changed: boolean;
  readonly inbox: Inbox;
  readonly cursor: string | undefined;
}

/**
 * Mutes a person by the first call, so that nothing comes in any more, and takes the person out of
 * each group by a decision of its own. A call lists up to 512 groups, and fewer when the deadline
 * comes near; with the cursor of the call before, a further call goes on. A group that fails does
 * not stop the next one: its error is thrown at the end, and the same call does the rest. Returns
 * whether this call changed anything, and the inbox. Refusals: those of a mute, INVALID_REQUEST for
 * a bad cursor.
 */
export async function blockPerson(
  deps: BlockDeps,
  block: Leaver & { readonly cursor?: string | undefined },
): Promise<Blocked> {
  const { ownerId, deadline = Number.POSITIVE_INFINITY } = block;
  const latest = deadline - answerMs;
  let { cursor } = block;
  let changed = cursor === undefined && (await setPersonMuted(deps, { ...block, muted: true }));
  const failures: unknown[] = [];
  let left = maxListed;
  do {
    const request = { size: Math.min(pageSize, left), cursor: cursor ?? firstCursor };
    const page = await groupsOf(deps, ownerId, request);
    const results = await Promise.allSettled(await leaveAll(deps, block, page.items, latest));
    let isComplete = true;
    for (const result of results) {
      if (result.status === "rejected") failures.push(result.reason);
      else {
        changed ||= result.value.changed;
        isComplete &&= result.value.isComplete;
      }
    }
    left -= page.items.length;
    cursor = isComplete ? page.cursor : request.cursor;
  } while (cursor !== undefined && left > 0 && performance.now() < latest);
  if (failures.length > 0) throw failures[0];
  return { changed, inbox: await inboxOf(deps, ownerId), cursor };
}

const firstCursor = "UNREAD ";

/**
 * Where each list goes on. An unread group whose latest member leaves moves to an earlier page, and
 * a read one may become unread, so the unread ones are listed again.
 */
const nextList: Readonly<Record<string, string | undefined>> = { UNREAD: "READ ", READ: "AGAIN " };

/** One page of the lists. The cursor is a list and the cursor in it, empty at its beginning. */
async function groupsOf(
  { reader }: BlockDeps,
  ownerId: string,
  { size, cursor }: PageRequest & { readonly cursor: string },
): Promise<Page<ListedGroup>> {
  const [, name, inner] = /^(UNREAD|READ|AGAIN) (.*)$/.exec(cursor) ?? [];
  if (name === undefined) throw badCursor();
  const page = { size, cursor: inner || undefined };
  const { items, cursor: next } = await (name === "READ"
    ? reader.readGroups(ownerId, 0, page)
    : reader.unreadGroups(ownerId, false, page));
  if (next !== undefined) return { items, cursor: `${name} ${next}` };
  return { items, cursor: nextList[name] };
}

/** Leaves the groups in which the person may be. No event is retracted after `latest`. */
async function leaveAll(
  deps: BlockDeps,
  block: Leaver,
  groups: readonly ListedGroup[],
  latest: number,
): Promise<Promise<{ changed: boolean; isComplete: boolean }>[]> {
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
    return [leaveGroup(deps, block, group, latest)];
  });
}
