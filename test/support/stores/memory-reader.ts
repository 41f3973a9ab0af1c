/** The reader port on the store in memory, but for bulk grants and the members of groups. */
import type { BulkGrantReader } from "../../../src/app/ports/bulk-grants.ts";
import type { Reader } from "../../../src/app/ports/deps.ts";
import type { MemberReader } from "../../../src/app/ports/notifications.ts";
import type { ScannedEntry } from "../../../src/app/ports/points.ts";
import {
  type Kind,
  pendingStartRef,
  type Records,
  type Ref,
} from "../../../src/app/ports/records.ts";
import type { ReservationFilter, ReservationReader } from "../../../src/app/ports/reservations.ts";
import type { LedgerEntry } from "../../../src/domain/ledger.ts";
import type { Reservation } from "../../../src/domain/reservation.ts";
import { shardOf } from "../../../src/store/dynamodb/codecs/codec.ts";
import { type Loaded, nameOf } from "../../../src/store/engine/item-store.ts";
import { idOf } from "../fixtures/record-names.ts";
import { eventReads } from "./memory-events.ts";
import { holdReads } from "./memory-holds.ts";
import { allOf, bySort, pad, padBack, pageOf, type Sorted, type Stored } from "./memory-pages.ts";
import { reactionReads } from "./memory-reactions.ts";

export function createReader(
  records: ReadonlyMap<string, Stored>,
  load: (ref: Ref) => Loaded,
): Omit<Reader, keyof BulkGrantReader | keyof MemberReader | "latestReactions"> {
  const all = <K extends Kind>(kind: K): Records[K][] => allOf(records, kind);

  return {
    async get(ref) {
      const { value, version } = load(ref);
      return value === undefined
        ? undefined
        : { value: value as Records[typeof ref.kind], version };
    },

    many: async <K extends Kind>(refs: readonly Ref<K>[]) =>
      refs.map((ref) => load(ref).value as Records[K] | undefined),

    programs: async (page) =>
      pageOf(
        "programs",
        all("program").map((record) => ({ sort: record.programId, record })),
        page,
      ),

    async entries({ programId, userId }, { from, to, newestFirst, types }, page) {
      const list = [...records.values()]
        .filter(({ ref }) => ref.kind === "entry" && ref.id.startsWith(`${programId}#${userId}#`))
        .map(({ value }) => value as LedgerEntry)
        .filter(({ number }) => number >= from && number <= to)
        .map((record) => ({ sort: (newestFirst ? padBack : pad)(record.number), record }));
      const found = pageOf(`entries ${programId}#${userId}`, list, page);
      const wanted = found.items.filter(({ type }) => types.length === 0 || types.includes(type));
      return { ...found, items: wanted };
    },

    async storedEntries({ programId, userId }, page) {
      const list = [...records.values()]
        .filter(({ ref }) => ref.kind === "entry" && ref.id.startsWith(`${programId}#${userId}#`))
        .map(({ ref, value }) => ({
          sort: pad(Number(ref.id.split("#").at(-1))),
          record: value as LedgerEntry,
        }));
      return pageOf(`stored ${programId}#${userId}`, list, page);
    },

    async entryCopies({ programId, userId }, { from, to }, segment, segments, page) {
      const scanned = [...records.values()]
        .map(({ ref, value }) => ({ sort: nameOf(ref), record: { ref, value } }))
        .filter(({ sort }) => shardOf(sort) % segments === segment);
      const found = pageOf("entry copies", scanned, page);
      const copies = found.items
        .filter(({ ref }) => ref.kind === "event" && ref.id.startsWith(`${programId}#${userId}#`))
        .map(({ value }) => (value as Records["event"]).entry)
        .filter(({ number }) => number >= from && number <= to);
      return { ...found, items: copies };
    },

    async dueAccounts(programId, shard, month, page) {
      const due = all("account").filter(
        (account) =>
          account.programId === programId &&
          shardOf(account.userId) === shard &&
          account.oldest !== undefined &&
          account.oldest <= month,
      );
      return pageOf(
        `due ${programId}#${shard}`,
        due.map(({ userId, oldest }) => ({
          sort: `${pad(oldest as number)}#${userId}`,
          record: { programId, userId },
        })),
        page,
      );
    },

    async accounts(programId, segment, segments, page) {
      const scanned = [...records.values()]
        .filter(({ ref }) => ref.kind !== "reservation" && ref.kind !== "hold")
        .map(({ ref, value }) => ({ sort: nameOf(ref), record: { ref, value } }))
        .filter(({ sort }) => shardOf(sort) % segments === segment);
      const found = pageOf("accounts", scanned, page);
      const items = found.items
        .filter(({ ref }) => ref.kind === "account")
        .map(({ value }) => value as Records["account"])
        .filter((account) => account.programId === programId);
      return { ...found, items };
    },

    ...{ ...reservationReads(records), ...holdReads(records), ...reportReads(records) },
    ...{ ...reactionReads(records), ...eventReads(records), ...entryScans(records) },
  };
}

function entryScans(records: ReadonlyMap<string, Stored>): Pick<Reader, "scannedEntries"> {
  return {
    async scannedEntries(programId, _, segment, segments, page) {
      const list = [...records.values()]
        .filter(({ ref }) => ref.kind === "entry" && ref.id.startsWith(`${programId}#`))
        .map(({ ref, value }): Sorted<ScannedEntry> => {
          const [, userId = "", digits] = ref.id.split("#");
          const number = Number(digits);
          const record = { userId, number, entry: value as LedgerEntry };
          return { sort: `${userId}#${pad(number)}`, record };
        })
        .filter(({ record }) => shardOf(record.userId) % segments === segment);
      return pageOf("scanned entries", list, page);
    },
  };
}

const reportReads = (records: ReadonlyMap<string, Stored>): Pick<Reader, "liabilityReports"> => ({
  liabilityReports: async (programId, page) =>
    pageOf(
      `liability reports ${programId}`,
      allOf(records, "liabilityReport")
        .filter((report) => report.programId === programId)
        .map((record) => ({ sort: record.reportId, record })),
      page,
    ),
});

function reservationReads(records: ReadonlyMap<string, Stored>): ReservationReader {
  const inState = (programId: string, state: Reservation["state"]) =>
    allOf(records, "reservation").filter(
      (record) => record.programId === programId && record.state === state,
    );
  return {
    async reservationsOfUser({ programId, userId }, filter, page) {
      const list = allOf(records, "reservation")
        .filter((record) => record.programId === programId && record.userId === userId)
        .filter(isWithin(filter))
        .map(sorted);
      const found = pageOf(`reservations ${programId}#${userId}`, list, page);
      return { ...found, items: found.items.filter(hasReason(filter)) };
    },

    reservationsOfUserInState: async ({ programId, userId }, state, window, page) =>
      pageOf(
        `reservations ${programId}#${userId}#${state}`,
        inState(programId, state)
          .filter((record) => record.userId === userId)
          .filter(isWithin(window))
          .map(sorted),
        page,
      ),

    async reservationsInState(programId, state, filter, { size, cursor }) {
      const list = inState(programId, state)
        .filter(isWithin(filter))
        .map(sorted)
        .filter(({ sort }) => cursor === undefined || sort > cursor)
        .sort(bySort);
      const found = list.slice(0, size);
      const last = found.at(-1)?.sort;
      return {
        items: found.map(({ record }) => record).filter(hasReason(filter)),
        ...(list.length > size && last !== undefined && { cursor: last }),
      };
    },

    reservationsInShard: async ({ programId, state, unsynced, shard }, window, page) =>
      pageOf(
        `shard ${programId}#${state}#${unsynced}#${shard}`,
        inState(programId, state)
          .filter(
            (record) => !!record.unsynced === unsynced && shardOf(record.reservationId) === shard,
          )
          .filter(isWithin(window))
          .map(sorted),
        page,
      ),

    pendingStarts: async (programId, shard, page) =>
      pageOf(
        `pending starts ${programId}#${shard}`,
        allOf(records, "pendingStart")
          .filter((each) => each.programId === programId && shardOf(idOf(each)) === shard)
          .map((record) => ({ sort: pendingStartRef(record).id, record })),
        page,
      ),
  };
}

const sorted = (record: Reservation): Sorted<Reservation> => ({
  sort: `${pad(record.executeTime)}#${record.reservationId}`,
  record,
});

/** As in DynamoDB, the filter drops records of a page that was read without it. */
const hasReason =
  ({ reasonPrefix = "" }: ReservationFilter) =>
  ({ reason }: Reservation): boolean =>
    reason.startsWith(reasonPrefix);

const isWithin =
  ({ start, end }: { start: number | undefined; end: number | undefined }) =>
  ({ executeTime }: Reservation): boolean =>
    executeTime >= (start ?? 0) && executeTime < (end ?? Number.POSITIVE_INFINITY);
