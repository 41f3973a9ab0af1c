/** Reads and purges reactions and notifications in the store in memory. */
import type { Reader } from "../../../src/app/ports/deps.ts";
import type { MembersQuery } from "../../../src/app/ports/engine.ts";
import type { Purger } from "../../../src/app/ports/reactions.ts";
import { inboxRef, type Records } from "../../../src/app/ports/records.ts";
import { type Members, shownFirst, shownLatest } from "../../../src/domain/notification.ts";
import type { Reaction, TargetName } from "../../../src/domain/target.ts";
import { nameOf } from "../../../src/store/engine/item-store.ts";
import { allOf, pad, padBack, pageOf, type Stored } from "./memory-pages.ts";

type MemoryRecords = ReadonlyMap<string, Stored>;

/** The number of notified reactions in a range, and the ones at its ends. */
export function membersOf(
  records: MemoryRecords,
  { target, kind, from, to, whole }: Omit<MembersQuery, "counted">,
): Members {
  const found = reactionsTo(records, target, kind)
    .filter(({ version, notified }) => notified && version >= from && version <= to)
    .sort((a, b) => a.version - b.version);
  if (whole !== undefined) {
    return { count: found.length, first: found, latest: found.toReversed() };
  }
  return {
    count: found.length,
    first: found.slice(0, shownFirst + 1),
    latest: found.toReversed().slice(0, shownLatest + 1),
  };
}

const isOf =
  ({ type, id }: TargetName) =>
  (target: TargetName): boolean =>
    target.type === type && target.id === id;

/** Copies only the requested rows, because the models read every target after every step. */
const reactionsTo = (
  records: MemoryRecords,
  { type, id }: TargetName,
  kind: string,
): Reaction[] => {
  const prefix = `reaction#${type}#${id}#${kind}#`;
  return [...records.entries()]
    .filter(([name]) => name.startsWith(prefix))
    .map(([, { value }]) => structuredClone(value) as Reaction);
};

/** The groups of an owner, whose id is the beginning of theirs. */
const ownedBy = <K extends "unreadGroup" | "readGroup">(
  records: MemoryRecords,
  kind: K,
  ownerId: string,
) =>
  [...records.values()]
    .filter(({ ref }) => ref.kind === kind && ref.id.startsWith(`${ownerId}#`))
    .map(({ ref, value }) => ({ name: ref.id, row: structuredClone(value) as Records[K] }));

export function reactionReads(
  records: MemoryRecords,
): Pick<Reader, "reactions" | "reactionsOfUser" | "unreadGroups" | "readGroups" | "inboxes"> {
  return {
    async reactions({ target, kind, notified }, page) {
      const { from, to } = notified ?? { from: 0, to: Number.MAX_SAFE_INTEGER };
      const rows = reactionsTo(records, target, kind).filter(
        ({ version }) => version >= from && version <= to,
      );
      const list = `reactions ${target.type}#${target.id}#${kind}`;
      const sorted = rows.map((row) => ({ sort: padBack(row.version), row }));
      const found = pageOf(list, sorted, page);
      return { ...found, items: found.items.filter((row) => row.notified || !notified) };
    },

    async reactionsOfUser(userId, page) {
      const rows = allOf(records, "reaction").filter((row) => row.userId === userId);
      const sorted = rows.map((row) => {
        const { target, kind, createTime } = row;
        return { sort: `${padBack(createTime)}#${target.type}#${target.id}#${kind}`, row };
      });
      return pageOf(`reactions of ${userId}`, sorted, page);
    },

    async unreadGroups(ownerId, newestFirst, page) {
      const order = newestFirst ? padBack : pad;
      const sorted = ownedBy(records, "unreadGroup", ownerId).map(({ row }) => ({
        sort: order(row.version),
        row,
      }));
      return pageOf(`unread ${ownerId}`, sorted, page);
    },

    async readGroups(ownerId, now, page) {
      const sorted = ownedBy(records, "readGroup", ownerId).map(({ name, row }) => ({
        sort: `${padBack(row.version)}#${name}`,
        row,
      }));
      const found = pageOf(`history ${ownerId}`, sorted, page);
      return { ...found, items: found.items.filter(({ expireTime }) => expireTime > now) };
    },

    inboxes: async (ownerIds) =>
      new Map(
        ownerIds.flatMap((ownerId) => {
          const found = records.get(nameOf(inboxRef(ownerId)));
          return found
            ? [[ownerId, structuredClone(found.value) as Records["inbox"]] as const]
            : [];
        }),
      ),
  };
}

/** How many records a purge deletes at once. */
const pageSize = 1_000;

export function createPurger(records: Map<string, Stored>): Purger {
  return {
    async reactions(target, kind) {
      const prefix = `reaction#${target.type}#${target.id}#${kind}#`;
      const names = [...records.keys()].filter((name) => name.startsWith(prefix));
      for (const name of names.slice(0, pageSize)) records.delete(name);
      return names.length >= pageSize;
    },

    async history(ownerId, target, cursor) {
      const sorted = ownedBy(records, "readGroup", ownerId).map(({ name, row }) => ({
        sort: `${pad(row.version)}#${name}`,
        row: { name, target: row.target },
      }));
      const found = pageOf(`purge ${ownerId}`, sorted, { size: pageSize, cursor });
      const isTarget = isOf(target);
      for (const each of found.items) {
        if (isTarget(each.target)) records.delete(`readGroup#${each.name}`);
      }
      return found.cursor;
    },
  };
}
