/** The reads of DynamoDB that do not go through the commit engine. */

import { actReads } from "../acts/store/readers/acts.ts";
import { bulkGrantReads } from "../bulk-grants/store/readers/bulk-grants.ts";
import { dueReads } from "../due/store/readers/due.ts";
import { eventReads } from "../feed/store/readers/events.ts";
import { memberReads } from "../feed/store/readers/members.ts";
import { notificationReads } from "../feed/store/readers/notifications.ts";
import { reactionReads } from "../feed/store/readers/reactions.ts";
import { holdReads } from "../holds/store/readers/holds.ts";
import type { Reader } from "../hub/deps.ts";
import type { Clients } from "../platform/dynamodb/sdk/client.ts";
import type { TableName } from "../platform/dynamodb/tables.ts";
import { distinct, type ItemStore, nameOf } from "../platform/engine/item-store.ts";
import type { Kind, RecordReader, Records, Ref } from "../platform/ports/records.ts";
import { pointsReads } from "../points/store/readers/points.ts";
import { reservationReads } from "../reservations/store/readers/reservations.ts";
import { createDynamoItemStore } from "./item-store.ts";

/** Reads by the client that retries, except for what lookups of the engine read. */
export function createDynamoReader(
  { retrying, single }: Pick<Clients, "retrying" | "single">,
  tableName: TableName,
): Reader {
  return {
    ...recordReads(createDynamoItemStore(retrying, tableName)),
    ...actReads(retrying, tableName("acts")),
    ...pointsReads(retrying, tableName),
    ...dueReads(retrying, tableName("points")),
    ...reservationReads(retrying, tableName),
    ...holdReads(retrying, tableName),
    ...reactionReads(retrying, tableName("reactions")),
    ...eventReads(retrying, tableName("reactions")),
    ...notificationReads(retrying, tableName),
    ...memberReads(single, tableName("reactions")),
    ...bulkGrantReads(retrying, tableName("bulk")),
  };
}

function recordReads(store: ItemStore): RecordReader {
  return {
    async get(ref) {
      const [loaded] = await store.read([ref]);
      if (loaded?.value === undefined) return undefined;
      return { value: loaded.value as Records[typeof ref.kind], version: loaded.version };
    },

    async many<K extends Kind>(refs: readonly Ref<K>[]) {
      const wanted = distinct(refs);
      const loaded = await store.read(wanted);
      const found = new Map(loaded.map(({ value }, i) => [nameOf(wanted[i] as Ref), value]));
      return refs.map((ref) => found.get(nameOf(ref)) as Records[K] | undefined);
    },
  };
}
