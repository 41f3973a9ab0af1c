/** Compares targets, reactions and events with each other and with the inboxes of their owners. */

import {
  inboxRef,
  mutedTargetRef,
  type NotifiedEvent,
  notifiedEventRef,
  targetRef,
  unreadGroupRef,
} from "../../src/feed/ports/records.ts";
import { type Event, eventRecordMs, isNoTarget } from "../../src/feed/rules/event.ts";
import { emptyInbox, type Inbox, replaceGroup } from "../../src/feed/rules/inbox.ts";
import {
  countIn,
  isEventKind,
  type ReactionKind,
  type StoredKind,
} from "../../src/feed/rules/kinds.ts";
import { activeReaction, isDeleted } from "../../src/feed/rules/reaction.ts";
import type { Target } from "../../src/feed/rules/target.ts";
import { inboxCountsOf } from "../../src/feed/rules/unread-group.ts";
import { putUnread } from "../../src/feed/use-cases/notifications/closed-groups.ts";
import { eventHash } from "../../src/feed/use-cases/notifications/notify.ts";
import { allPages } from "../../src/platform/ports/pages.ts";
import type { Records } from "../../src/platform/ports/records.ts";
import type { TargetName } from "../../src/platform/words/target-name.ts";
import { type CompareDeps, found } from "./findings.ts";
import { rebuildGroup } from "./rebuild-group.ts";
import { ofKind, scanTable } from "./scan-table.ts";

/** The number of reactions of one read. */
const pageSize = 1_000;

/** A transaction writes so many groups and their inbox. */
const maxGroups = 90;

/** The reactions and events of an owner that are later than the version of the inbox. */
interface Ahead {
  /** The latest version of the owner's reactions and events. */
  version: number;
  /** The kinds and targets of these notifications, by the ids of their groups. */
  readonly groups: Map<string, { readonly target: TargetName; readonly kind: StoredKind }>;
}

/** One reaction, position or event by its owner and version. */
interface Versioned {
  readonly ownerId: string;
  readonly version: number;
  readonly target: TargetName;
  readonly kind: StoredKind;
  readonly notified: boolean;
}

/** Compares all targets, reactions and events. Notifies owners of those that their inboxes lack. */
export async function compareReactions(deps: CompareDeps): Promise<void> {
  const ahead = new Map<string, Ahead>();
  await scanTable(deps, ["target", "reaction", "notificationEvent"], async (records) => {
    for (const { value } of ofKind(records, "target")) await compareTarget(deps, value);
    const events = ofKind(records, "notificationEvent").map(({ value }) => value);
    await compareEventIds(deps, events);
    const reactions = await versionedReactions(deps, ofKind(records, "reaction"));
    const versioned = [...reactions, ...events.map((event) => ({ ...event, notified: true }))];
    await noteAhead(deps, versioned, ahead);
  });
  for (const [ownerId, each] of ahead) await notifyAgain(deps, ownerId, each);
}

async function compareTarget(deps: CompareDeps, target: Target): Promise<void> {
  if (isDeleted(target)) return;
  const { ownerId, type, id, muted } = target;
  for (const kind of Object.keys(target.counts)) {
    if (isEventKind(kind)) continue;
    await compareCount(deps, target, kind, countIn(target.counts, kind));
  }
  const ref = mutedTargetRef(ownerId, target);
  const listed = await deps.reader.get(ref);
  if (muted === (listed !== undefined)) return;
  const detail = muted ? "muted, and not in the list" : "not muted, and in the list";
  await found(deps, { kind: "MUTE_DIFFERS", name: `${type}/${id}`, detail }, () =>
    deps.engine.transact({
      key: inboxRef(ownerId),
      readSet: [ref],
      expectAbsent: [],
      call: undefined,
      decide(tx, { wall }) {
        if (!muted) tx.delete(ref);
        else if (!tx.get(ref)) tx.put(ref, { target: { type, id }, time: wall });
      },
    }),
  );
}

async function compareCount(
  deps: CompareDeps,
  target: Target,
  kind: ReactionKind,
  activeCount: number,
): Promise<void> {
  let count = 0;
  const pages = allPages(pageSize, (page) => deps.reader.reactions({ target, kind }, page));
  for await (const reactions of pages) count += reactions.length;
  if (count === activeCount) return;
  const name = `${target.type}/${target.id}`;
  const detail = `${count} of ${kind}, not ${activeCount}`;
  const ref = targetRef(target);
  await found(deps, { kind: "REACTION_COUNT_DIFFERS", name, detail }, () =>
    deps.engine.transact({
      key: inboxRef(target.ownerId),
      readSet: [ref],
      expectAbsent: [],
      call: undefined,
      decide(tx) {
        const stored = tx.get(ref);
        if (!stored || countIn(stored.counts, kind) !== activeCount) return;
        const { [kind]: _, ...others } = stored.counts;
        const counts = count > 0 ? { ...others, [kind]: count } : others;
        tx.put(ref, { ...stored, counts });
      },
    }),
  );
}

/** The reactions, and the positions of former reactions, with their owners. */
async function versionedReactions(
  deps: CompareDeps,
  records: readonly { readonly id: string; readonly value: Records["reaction"] }[],
): Promise<Versioned[]> {
  const names = records.map(({ id }) => {
    const [type, targetId, kind] = id.split("#") as [string, string, string];
    return { target: { type, id: targetId }, kind };
  });
  const targets = await deps.reader.many(names.map(({ target }) => targetRef(target)));
  const missing = new Map<string, [Target, ReactionKind]>();
  const all = records.flatMap(({ value }, i) => {
    const { target, kind } = names[i] as (typeof names)[number];
    const found = targets[i];
    if (!found || isDeleted(found)) return [];
    const { ownerId } = found;
    const reaction = activeReaction(value);
    if (reaction && !isEventKind(kind) && countIn(found.counts, kind) === 0) {
      missing.set(`${target.type}#${target.id}#${kind}`, [found, kind]);
    }
    const version =
      reaction?.version ?? ("position" in value ? value.position?.version : undefined);
    const notified = reaction?.notified ?? false;
    return version === undefined ? [] : [{ ownerId, version, target, kind, notified }];
  });
  for (const [target, kind] of missing.values()) await compareCount(deps, target, kind, 0);
  return all;
}

/** Notes what is later than the inbox of its owner: the inbox is of an earlier moment. */
async function noteAhead(
  deps: CompareDeps,
  all: readonly Versioned[],
  ahead: Map<string, Ahead>,
): Promise<void> {
  const inboxes = await deps.reader.many(all.map(({ ownerId }) => inboxRef(ownerId)));
  for (const [i, { ownerId, version, target, kind, notified }] of all.entries()) {
    if (version <= (inboxes[i]?.version ?? 0)) continue;
    const noted = ahead.get(ownerId) ?? { version, groups: new Map() };
    noted.version = Math.max(noted.version, version);
    if (notified) noted.groups.set(unreadGroupRef(ownerId, target, kind).id, { target, kind });
    ahead.set(ownerId, noted);
  }
}

/**
 * Sets an inbox to the latest version of its owner's reactions and events, so that no further one
 * gets a version twice, and begins the notifications that are lost with what is later than the
 * inbox. A notification that is open is compared with its members afterwards. The version is set
 * with the last groups, because nothing is later than the inbox then, and finds the rest.
 */
async function notifyAgain(deps: CompareDeps, ownerId: string, ahead: Ahead): Promise<void> {
  const ref = inboxRef(ownerId);
  const inbox = (await deps.reader.get(ref))?.value ?? emptyInbox;
  const detail = `version ${inbox.version}, and ${ahead.version} among reactions and events`;
  await found(deps, { kind: "INBOX_BEHIND", name: ownerId, detail }, async () => {
    const names = [...ahead.groups.values()];
    const generation = inbox.version + 1;
    do {
      const batch = names.splice(0, maxGroups);
      const isLast = names.length === 0;
      await beginGroups(deps, ownerId, batch, { generation, version: ahead.version, isLast });
    } while (names.length > 0);
  });
}

/** Begins lost notifications of an inbox that is behind; the last ones set its version. */
async function beginGroups(
  { engine, reader }: CompareDeps,
  ownerId: string,
  names: readonly { readonly target: TargetName; readonly kind: StoredKind }[],
  to: { readonly generation: number; readonly version: number; readonly isLast: boolean },
): Promise<void> {
  const { generation } = to;
  const ref = inboxRef(ownerId);
  const groups = await Promise.all(
    names.map((name) => rebuildGroup(reader, { ownerId, ...name, generation })),
  );
  const refs = names.map(({ target, kind }) => unreadGroupRef(ownerId, target, kind));
  await engine.transact({
    key: ref,
    readSet: [ref, ...refs],
    expectAbsent: [],
    call: undefined,
    decide(tx) {
      const before = tx.get(ref) ?? emptyInbox;
      if (before.version !== generation - 1) return;
      const begun = groups.flatMap((group, i) => {
        const groupRef = refs[i] as (typeof refs)[number];
        return group && !tx.get(groupRef) ? [group] : [];
      });
      const after = begun.reduce<Inbox>(
        (inbox, group) => replaceGroup(inbox, undefined, inboxCountsOf(group)),
        before,
      );
      const version = Math.max(after.version, to.version);
      for (const group of begun) putUnread(tx, ownerId, undefined, group, version);
      const { changeVersion } = before;
      if (to.isLast) tx.put(ref, { ...after, version, changeVersion: version });
      else tx.put(ref, { ...after, version: before.version, changeVersion });
    },
  });
}

/** Finds events whose ids are not known, so that the same call would report them once more. */
async function compareEventIds(deps: CompareDeps, events: readonly Event[]): Promise<void> {
  const { wall } = await deps.clock.now();
  const known = events.filter(({ expireTime }) => expireTime - eventRecordMs > wall);
  const refs = known.map((event) => notifiedEventRef(event.ownerId, event.service, event.eventId));
  const ids = await deps.reader.many(refs);
  for (const [i, event] of known.entries()) {
    const id = ids[i];
    if (id?.version === event.version && !id.retracted) continue;
    const ref = refs[i] as (typeof refs)[number];
    const name = `${event.ownerId} ${event.service} ${event.eventId}`;
    const detail = id ? "the id is of another moment" : "";
    await found(deps, { kind: "EVENT_ID_LOST", name, detail }, () =>
      deps.engine.transact({
        key: inboxRef(event.ownerId),
        readSet: [ref],
        expectAbsent: [],
        call: undefined,
        decide: (tx) => tx.put(ref, idOf(event)),
      }),
    );
  }
}

function idOf(event: Event): NotifiedEvent {
  const { target, kind, userId, version, expireTime } = event;
  const name = { target, kind, userId, version, retracted: false };
  const reported = { ...event, target: isNoTarget(target) ? undefined : target };
  return { ...name, hash: eventHash(reported), expireTime: expireTime - eventRecordMs };
}
