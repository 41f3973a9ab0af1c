/** Reads reactions and notifications in the store in memory, and purges what was deleted. */
import type { Reader } from "../../../src/app/ports/deps.ts";
import type {
  MemberReader,
  MemberRecord,
  MembersName,
} from "../../../src/app/ports/notifications.ts";
import type { Purger } from "../../../src/app/ports/reactions.ts";
import { inboxRef, type Records } from "../../../src/app/ports/records.ts";
import { isEventKind } from "../../../src/domain/kinds.ts";
import { unlessWithdrawn } from "../../../src/domain/reaction.ts";
import type { Reaction, TargetName } from "../../../src/domain/target.ts";
import {
  type ReadGroup,
  shownFirst,
  shownLatest,
  versionOf,
} from "../../../src/domain/unread-group.ts";
import { nameOf } from "../../../src/store/engine/item-store.ts";
import { countEvents, eventsOf, isOfEvents } from "./memory-events.ts";
import { allOf, cursorOf, pad, padBack, pageOf, type Stored } from "./memory-pages.ts";

type MemoryRecords = ReadonlyMap<string, Stored>;

/** Sorts the reactions of a person, newest first. */
const sortOfUser = ({ target, kind, createTime }: Reaction): string =>
  `${padBack(createTime)}#${target.type}#${target.id}#${kind}`;

/** Answers a query with what it reads. */
type Answer = <T>(read: () => T) => Promise<T>;

/** Reads the members of groups, and the latest reactions. `answer` sends each query. */
export function memberReads(
  records: MemoryRecords,
  answer: Answer,
): MemberReader & Pick<Reader, "latestReactions"> {
  const membersOf = (name: MembersName): MemberRecord[] =>
    "ownerId" in name
      ? eventsOf(records, name)
      : reactionsTo(records, name.target, name.kind).filter(({ notified }) => notified);
  const between = (name: MembersName, from: number, to: number) =>
    membersOf(name)
      .filter(({ version }) => version >= from && version <= to)
      .sort((a, b) => a.version - b.version);
  return {
    latestReactions: (target, kind, limit) =>
      answer(() =>
        reactionsTo(records, target, kind)
          .sort((a, b) => b.version - a.version)
          .slice(0, limit),
      ),

    membersAfter: (name, after, limit) =>
      answer(() => between(name, after + 1, Number.MAX_SAFE_INTEGER).slice(0, limit)),

    async memberEnds(name, from, to) {
      // Each end is read at its own moment.
      const [first, latest] = await Promise.all([
        answer(() => firstOf(between(name, from, to))),
        answer(() => latestOf(between(name, from, to))),
      ]);
      return { first, latest };
    },

    async splitMembers(name, { from, at, to }, total) {
      const count = () => {
        const [before, after] = [between(name, from, at), between(name, at + 1, to)];
        if (total === undefined) return { count: before.length, restCount: after.length };
        // The shorter side is counted, as in DynamoDB.
        const isShorter = before.length <= after.length;
        return { count: isShorter ? before.length : total - after.length };
      };
      const [counts, first, latest] = await Promise.all([
        answer(count),
        answer(() => firstOf(between(name, at + 1, to))),
        answer(() => latestOf(between(name, from, at))),
      ]);
      return { ...counts, first, latest };
    },

    countEvents: (name, range) => answer(() => countEvents(records, name, range)),
  };
}

const firstOf = (list: readonly MemberRecord[]) => list.slice(0, shownFirst + 1);
const latestOf = (list: readonly MemberRecord[]) => list.toReversed().slice(0, shownLatest + 1);

/** Reads only the requested records, because the models read every target after every step. */
const reactionsTo = (
  records: MemoryRecords,
  { type, id }: TargetName,
  kind: string,
): Reaction[] => {
  const prefix = `reaction#${type}#${id}#${kind}#`;
  return [...records.entries()]
    .filter(([name]) => name.startsWith(prefix))
    .flatMap(([, { value }]) => unlessWithdrawn(value as Records["reaction"]) ?? []);
};

/** The groups of an owner, whose id is the beginning of theirs. */
const ownedBy = <K extends "unreadGroup" | "readGroup" | "mutedPerson" | "mutedTarget">(
  records: MemoryRecords,
  kind: K,
  ownerId: string,
) =>
  [...records.values()]
    .filter(({ ref }) => ref.kind === kind && ref.id.startsWith(`${ownerId}#`))
    .map(({ ref, value }) => ({ name: ref.id, record: value as Records[K] }));

export function reactionReads(
  records: MemoryRecords,
): Pick<
  Reader,
  | "reactions"
  | "reactionsOfUser"
  | "cursorOfUserAfter"
  | "pendingPurges"
  | "unreadGroups"
  | "readGroups"
  | "readGroupFrom"
  | "mutedPeople"
  | "mutedTargets"
  | "inboxes"
> {
  return {
    async reactions({ target, kind, notified }, page) {
      const { from, to } = notified ?? { from: 0, to: Number.MAX_SAFE_INTEGER };
      const reactions = reactionsTo(records, target, kind).filter(
        ({ version }) => version >= from && version <= to,
      );
      const list = `reactions ${target.type}#${target.id}#${kind}`;
      const sorted = reactions.map((record) => ({ sort: padBack(record.version), record }));
      const found = pageOf(list, sorted, page);
      return { ...found, items: found.items.filter((record) => record.notified || !notified) };
    },

    async reactionsOfUser(userId, page) {
      const list = allOf(records, "reaction")
        .flatMap((record) => unlessWithdrawn(record) ?? [])
        .filter((record) => record.userId === userId && !isEventKind(record.kind));
      const sorted = list.map((record) => ({ sort: sortOfUser(record), record }));
      return pageOf(`reactions of ${userId}`, sorted, page);
    },

    cursorOfUserAfter: (record) => cursorOf(`reactions of ${record.userId}`, sortOfUser(record)),

    async pendingPurges(page) {
      const sorted = allOf(records, "pendingPurge").map((record) => ({
        sort: `${record.target.type}#${record.target.id}`,
        record,
      }));
      return pageOf("pending purges", sorted, page);
    },

    async unreadGroups(ownerId, newestFirst, page, before = Number.MAX_SAFE_INTEGER) {
      const order = newestFirst ? padBack : pad;
      const sorted = ownedBy(records, "unreadGroup", ownerId)
        .filter(({ record }) => versionOf(record) < before)
        .map(({ record }) => ({ sort: order(versionOf(record)), record }));
      return pageOf(`unread ${ownerId}`, sorted, page);
    },

    async readGroups(ownerId, now, page, before = Number.MAX_SAFE_INTEGER) {
      const sorted = ownedBy(records, "readGroup", ownerId)
        .filter(({ record }) => versionOf(record) < before)
        .map(({ name, record }) => ({ sort: `${padBack(versionOf(record))}#${name}`, record }));
      const found = pageOf(`history ${ownerId}`, sorted, page);
      return { ...found, items: found.items.filter(({ expireTime }) => expireTime > now) };
    },

    async readGroupFrom({ ownerId, target, kind }, version) {
      const groups = ownedBy(records, "readGroup", ownerId).map(({ record }) => record);
      const isOfName = (group: ReadGroup) =>
        group.kind === kind && group.target.type === target.type && group.target.id === target.id;
      return groups
        .filter((group) => isOfName(group) && group.generation <= version)
        .sort((a, b) => b.generation - a.generation)[0];
    },

    async mutedPeople(ownerId, page) {
      const sorted = ownedBy(records, "mutedPerson", ownerId).map(({ name, record }) => ({
        sort: name,
        record,
      }));
      return pageOf(`muted ${ownerId}`, sorted, page);
    },

    async mutedTargets(ownerId, page) {
      const sorted = ownedBy(records, "mutedTarget", ownerId).map(({ name, record }) => ({
        sort: name,
        record,
      }));
      return pageOf(`muted targets of ${ownerId}`, sorted, page);
    },

    inboxes: async (ownerIds) =>
      new Map(
        ownerIds.flatMap((ownerId) => {
          const found = records.get(nameOf(inboxRef(ownerId)));
          return found ? [[ownerId, found.value as Records["inbox"]] as const] : [];
        }),
      ),
  };
}

/** How many records a purge deletes at once. */
const pageSize = 1_000;

export function createPurger(records: Map<string, Stored>): Purger {
  /** Deletes a page of the records whose names match. */
  const deletePage = (matches: (recordName: string) => boolean): boolean => {
    const names = [...records.keys()].filter(matches);
    for (const name of names.slice(0, pageSize)) records.delete(name);
    return names.length >= pageSize;
  };
  return {
    reactions: async (target, kind) =>
      deletePage((name) => name.startsWith(`reaction#${target.type}#${target.id}#${kind}#`)),
    events: async (name) => deletePage((recordName) => isOfEvents(recordName, name)),
  };
}
