/**
 * Reads from the items of the tables what a consumer of all events has to know, in the words of the
 * contract. It finds the records by the keys of docs/change/keys.md, and uses none of the code that
 * reads the streams or makes the events.
 */
import {
  create,
  type DescMessage,
  type JsonObject,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { withProblems } from "../../../src/bulk-grants/rpc/messages.ts";
import { type BulkGrant, neededApprovals } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import {
  type StreamedKind,
  type StreamedTable,
  streamedTables,
} from "../../../src/events/ports/changes.ts";
import { encodeId } from "../../../src/feed/rpc/notifications/ids.ts";
import { fromTarget } from "../../../src/feed/rpc/reactions/service.ts";
import { isNoTarget } from "../../../src/feed/rules/event.ts";
import { isEventKind, kindName } from "../../../src/feed/rules/kinds.ts";
import {
  type Group,
  versionOf as latestVersionOf,
  type ReadGroup,
} from "../../../src/feed/rules/unread-group.ts";
import {
  BulkGrantChangedSchema,
  HoldChangedSchema,
  NotificationChangedSchema,
  ProgramChangedSchema,
  ReservationChangedSchema,
  TargetChangedSchema,
} from "../../../src/gen/meguri/events/v1/event_pb.ts";
import { Notification_Type as NotificationType } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { LedgerEntrySchema } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { fromHold } from "../../../src/holds/rpc/service.ts";
import { versionOf } from "../../../src/platform/dynamodb/codec.ts";
import { type Item, text } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { fromRecord } from "../../../src/platform/messages/records.ts";
import { fromOptionalInstant } from "../../../src/platform/messages/scalars.ts";
import type { Records } from "../../../src/platform/ports/records.ts";
import { fromEntry } from "../../../src/points/rpc/ledger-entries.ts";
import { newestLifetime } from "../../../src/points/rules/program.ts";
import { fromReservation } from "../../../src/reservations/rpc/messages.ts";
import { codecOf } from "../../../src/store/codecs.ts";

export interface Tables {
  /** The entries of each account that has any, in order, by the name of the account. */
  readonly ledgers: ReadonlyMap<string, readonly JsonObject[]>;
  /** The data of the latest event of each record, by its name as `changeOf` makes it. */
  readonly records: ReadonlyMap<string, JsonObject>;
}

/** What the tables say, whose items `itemsOf` reads. */
export async function readTables(
  itemsOf: (table: StreamedTable) => Promise<readonly Item[]>,
): Promise<Tables> {
  const ledgers = new Map<string, JsonObject[]>();
  const records = new Map<string, JsonObject>();
  for (const table of streamedTables) {
    const items = await itemsOf(table);
    for (const [name, data] of items.flatMap(recordsIn[table])) records.set(name, data);
    if (table !== "points") continue;
    for (const [account, own] of Map.groupBy(items.filter(isOfLedger), accountOf)) {
      ledgers.set(account, entriesOf(own));
    }
  }
  return { ledgers, records };
}

const isOfLedger = (item: Item): boolean =>
  text(item, "pk").startsWith("A#") && text(item, "sk").startsWith("L#");

const accountOf = (item: Item): string => {
  const [, programId, userId] = text(item, "pk").split("#");
  return `account ${programId}/${userId}`;
};

/** The entries of an account from its items, each with the entries that are packed behind it. */
function entriesOf(items: readonly Item[]): JsonObject[] {
  const codec = codecOf("entry");
  const entries = items.flatMap((item) => {
    const first = codec.decode(item);
    const further = (item.l?.L ?? []).map(({ M }, i) =>
      codec.decode({ ...M, ...codec.key(`#${first.number + 1 + i}`) }),
    );
    return [first, ...further];
  });
  entries.sort((a, b) => a.number - b.number);
  return entries.map((entry) => json(LedgerEntrySchema, fromEntry(entry)));
}

const json = <D extends DescMessage>(desc: D, init: MessageInitShape<D>): JsonObject =>
  toJson(desc, create(desc, init)) as JsonObject;

/** The name of a record, and the data of its latest event. */
type Named = [name: string, data: JsonObject];

const decoded = <K extends StreamedKind>(kind: K, item: Item): Records[K] =>
  codecOf(kind).decode(item);

/** The records in an item by its table and key; none of the kinds of which no event tells. */
const recordsIn: Readonly<Record<StreamedTable, (item: Item) => Named[]>> = {
  points: (item) => (text(item, "pk") === "P" ? [programOf(item)] : []),
  reservations: (item) => [text(item, "pk").startsWith("H#") ? holdOf(item) : reservationOf(item)],
  bulk: (item) => (isAt(item, "G#", "G") ? [bulkGrantOf(item)] : []),
  reactions: (item) => (isAt(item, "T#", "T") ? [targetOf(item)] : []),
  notifications(item) {
    if (isAt(item, "I#", "U#")) return [notificationOf(item, decoded("unreadGroup", item))];
    return isAt(item, "H#", "") ? [notificationOf(item, decoded("readGroup", item))] : [];
  },
};

const isAt = (item: Item, pk: string, sk: string): boolean =>
  text(item, "pk").startsWith(pk) && text(item, "sk").startsWith(sk);

function programOf(item: Item): Named {
  const program = decoded("program", item);
  const data = fromRecord(ProgramChangedSchema, {
    ...program,
    recordVersion: versionOf(item),
    lifetimeMonths: newestLifetime(program).lifetimeMonths,
    reservationsPaused: program.reservationPause !== undefined,
  });
  return [`program ${program.programId}`, json(ProgramChangedSchema, data)];
}

function reservationOf(item: Item): Named {
  const reservation = decoded("reservation", item);
  const { programId, reservationId, state } = reservation;
  const data = {
    recordVersion: BigInt(versionOf(item)),
    reservation: fromReservation({ reservation, state }),
  };
  return [`reservation ${programId}/${reservationId}`, json(ReservationChangedSchema, data)];
}

function holdOf(item: Item): Named {
  const hold = decoded("hold", item);
  const data = { recordVersion: BigInt(versionOf(item)), hold: fromHold(hold) };
  return [`hold ${hold.programId}/${hold.holdId}`, json(HoldChangedSchema, data)];
}

function bulkGrantOf(item: Item): Named {
  const record: BulkGrant = decoded("bulkGrant", item);
  const { programId, bulkGrantId, revision, approvals, pause, result } = record;
  const data = fromRecord(BulkGrantChangedSchema, {
    ...revision,
    ...record,
    recordVersion: versionOf(item),
    revision: revision.number,
    approvalCount: approvals.length,
    requiredApprovalCount: neededApprovals(record),
    paused: pause !== undefined,
    result: result && withProblems(result),
  });
  return [`bulk grant ${programId}/${bulkGrantId}`, json(BulkGrantChangedSchema, data)];
}

function targetOf(item: Item): Named {
  const target = decoded("target", item);
  const counts = Object.entries(target.counts);
  const ofKinds = (isOfEvents: boolean) =>
    Object.fromEntries(
      counts
        .filter(([kind]) => isEventKind(kind) === isOfEvents)
        .map(([kind, count]) => [kindName(kind), BigInt(count)]),
    );
  const data = {
    recordVersion: BigInt(versionOf(item)),
    target: fromTarget(target),
    reactionCounts: ofKinds(false),
    eventCounts: ofKinds(true),
  };
  return [`target ${target.type}/${target.id}`, json(TargetChangedSchema, data)];
}

function notificationOf(item: Item, group: Group & Partial<Pick<ReadGroup, "readTime">>): Named {
  const { kind, target, generation, actorCount, latestMembers, readTime } = group;
  const ownerId = text(item, "pk").slice(2);
  const notificationId = encodeId({ ownerId, kind, target, generation });
  const data = {
    ...{ ownerId, notificationId, kind: kindName(kind) },
    ...(!isNoTarget(target) && { targetName: target }),
    notificationType: isEventKind(kind) ? NotificationType.EVENT : NotificationType.REACTION,
    actorCount: BigInt(actorCount),
    latestUserId: latestMembers[0]?.userId ?? "",
    latestDisplayName: latestMembers[0]?.displayName ?? "",
    readTime: fromOptionalInstant(readTime),
    inboxVersion: BigInt(latestVersionOf(group)),
    recordVersion: BigInt(versionOf(item)),
  };
  return [`notification ${ownerId} ${notificationId}`, json(NotificationChangedSchema, data)];
}
