/** Scans whole tables of DynamoDB, and finds by its key of which record an item is. */
import { type DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { noActor } from "../feed/rules/target.ts";
import { noActorKey } from "../feed/store/codecs/events.ts";
import type { Item } from "../platform/dynamodb/sdk/attributes.ts";
import { pageAnswer, pageOf, startOf } from "../platform/dynamodb/sdk/query-pages.ts";
import type { TableName } from "../platform/dynamodb/tables.ts";
import type { Ref } from "../platform/ports/records.ts";
import { eventIdOf } from "../points/store/codecs/points.ts";
import { codecOf } from "./codecs.ts";
import type { Scanned, ScannedKind, TableScan } from "./scans.ts";

export function createTableScan(client: DynamoDBClient, tableName: TableName): TableScan {
  return {
    async scan<K extends ScannedKind>(
      kinds: readonly K[],
      { segment, segments }: { readonly segment: number; readonly segments: number },
      { size, cursor }: { readonly size: number; readonly cursor: string | undefined },
    ) {
      const command = new ScanCommand({
        TableName: tableName(codecOf(kinds[0] as K).table),
        ConsistentRead: true,
        Segment: segment,
        TotalSegments: segments,
        Limit: size,
        ...startOf(cursor),
      });
      const { Items = [], LastEvaluatedKey } = await pageAnswer(client.send(command), cursor);
      const records = Items.flatMap((item) => {
        const ref = refOf(item);
        if (!ref || !kinds.includes(ref.kind as K)) return [];
        return [{ ...ref, value: codecOf(ref.kind).decode(item) } as Scanned<K>];
      });
      return pageOf(records, LastEvaluatedKey);
    },
  };
}

/** The record of an item, by the forms of docs/change/keys.md; undefined for the other kinds. */
export function refOf(item: Item): Ref<ScannedKind> | undefined {
  const [pk = "", sk] = [item.pk?.S, item.sk?.S];
  const id = pk.slice(2);
  if (sk === undefined) {
    return pk.startsWith("H#") ? { kind: "hold", id } : { kind: "reservation", id: pk };
  }
  const parts = id.split("#");
  switch (pk.slice(0, 2)) {
    case "A#":
      return sk === "A" ? { kind: "account", id } : undefined;
    case "K#":
      return { kind: "event", id: eventIdOf(item) };
    case "G#":
      return sk === "G" ? { kind: "bulkGrant", id } : undefined;
    case "T#":
      return { kind: "target", id };
    case "R#":
      return { kind: "reaction", id: [...parts.slice(0, 3), sk].join("#") };
    case "V#":
      return eventRefOf(id, sk);
    case "I#":
      return sk === "I" ? { kind: "inbox", id } : groupRefOf(id, sk);
    case "E#":
      return { kind: "notifiedEvent", id: `${id}#${sk}` };
    default:
      return undefined;
  }
}

/** The event, or undefined for an actor of events, whose key has no version. */
function eventRefOf(name: string, sk: string): Ref<"notificationEvent"> | undefined {
  const [, actor, version] = /^(.*)#(\d{15})$/.exec(sk) ?? [];
  if (actor === undefined) return undefined;
  const userId = actor === noActorKey ? noActor : actor;
  return { kind: "notificationEvent", id: `${name}#${userId}#${Number(version)}` };
}

/** The open or closed unread group of an owner. */
function groupRefOf(ownerId: string, sk: string): Ref<"unreadGroup"> | undefined {
  const [mark, kind, type, id, generation] = sk.split("#");
  if (mark !== "U") return undefined;
  const closed = generation === undefined ? [] : [Number(generation)];
  return { kind: "unreadGroup", id: [ownerId, kind, type, id, ...closed].join("#") };
}
