/** The reads of DynamoDB that do not go through the commit engine. */
import type { Reader } from "../../../app/ports/deps.ts";
import type { Kind, RecordReader, Records, Ref } from "../../../app/ports/records.ts";
import { distinct, type ItemStore, nameOf } from "../../engine/item-store.ts";
import { memberReads } from "../group-members.ts";
import { createDynamoItemStore } from "../item-store.ts";
import type { Clients } from "../sdk/client.ts";
import type { TableName } from "../tables.ts";
import { bulkGrantReads } from "./bulk-grants.ts";
import { eventReads } from "./events.ts";
import { holdReads } from "./holds.ts";
import { notificationReads } from "./notifications.ts";
import { pointsReads } from "./points.ts";
import { latestReads, reactionReads } from "./reactions.ts";
import { reservationReads } from "./reservations.ts";

/** Reads by the client that retries, except for what lookups of the engine read. */
export function createDynamoReader(
  { retrying, single }: Pick<Clients, "retrying" | "single">,
  tableName: TableName,
): Reader {
  return {
    ...recordReads(createDynamoItemStore(retrying, tableName)),
    ...pointsReads(retrying, tableName("points")),
    ...reservationReads(retrying, tableName),
    ...holdReads(retrying, tableName),
    ...reactionReads(retrying, tableName("reactions")),
    ...latestReads(single, tableName("reactions")),
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
