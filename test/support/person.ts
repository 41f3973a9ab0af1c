/** Finds all that is stored of a person from the id, by the paths of docs/change/keys.md. */
import { type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { type Item, parts, text } from "../../src/platform/dynamodb/sdk/attributes.ts";
import {
  bySubjectIndex,
  byUserIndex,
  ofPersonIndex,
  type Table,
  type TableName,
} from "../../src/platform/dynamodb/tables.ts";
import { comparableSubject } from "../../src/platform/words/caller.ts";

/** An item and its table. An index of keys has no more of it than its key. */
export interface Found {
  readonly table: Table;
  readonly item: Item;
}

/** A query by a hash key and, if given, by how the range key begins. */
type Query = (key: {
  readonly table: Table;
  readonly index?: string;
  readonly hash: readonly [name: string, value: string];
  readonly range?: readonly [name: string, prefix: string];
}) => Promise<Found[]>;

/** Finds by queries only: a scan would read what is stored of everybody. */
export async function findPerson(
  client: DynamoDBClient,
  tableName: TableName,
  userId: string,
): Promise<Found[]> {
  const query = queryOf(client, tableName);
  const programs = await query({ table: "points", hash: ["pk", "P"] });
  const programIds = programs.map(({ item }) => text(item, "sk"));
  const all = await Promise.all([
    ...programIds.map((programId) => inProgram(query, programId, userId)),
    inSheets(query, programIds),
    asActor(query, userId),
    asOwner(query, userId),
  ]);
  return all.flat();
}

const queryOf =
  (client: DynamoDBClient, tableName: TableName): Query =>
  async ({ table, index, hash, range }) => {
    const found: Found[] = [];
    let ExclusiveStartKey: Item | undefined;
    do {
      const page = await client.send(
        new QueryCommand({
          TableName: tableName(table),
          IndexName: index,
          KeyConditionExpression: `#h = :h${range ? " AND begins_with(#r, :r)" : ""}`,
          ExpressionAttributeNames: { "#h": hash[0], ...(range && { "#r": range[0] }) },
          ExpressionAttributeValues: {
            ":h": { S: hash[1] },
            ...(range && { ":r": { S: range[1] } }),
          },
          ExclusiveStartKey,
        }),
      );
      found.push(...(page.Items ?? []).map((item) => ({ table, item })));
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    return found;
  };

const partition = (query: Query, table: Table, pk: string, prefix?: string) =>
  query({ table, hash: ["pk", pk], ...(prefix !== undefined && { range: ["sk", prefix] }) });

const keysOfPerson = (query: Query, table: Table, userId: string) =>
  query({ table, index: ofPersonIndex, hash: ["ip", userId] });

/** Account, entries, event keys, reservations, holds and acts in a program, and its jobs. */
async function inProgram(query: Query, programId: string, userId: string): Promise<Found[]> {
  const key = `A#${programId}#${userId}`;
  const account = await partition(query, "accounts", key);
  const ledger = await partition(query, "points", key);
  const events = ledger
    .flatMap(({ item }) => [item, ...(item.l?.L ?? []).map(({ M = {} }) => M)])
    .flatMap(({ e }) => (e?.S ? [e.S] : []));
  const keys = events.map((id) => {
    // The captures of a hold share its key.
    const key = id.startsWith("h:") ? id.split("/", 1)[0] : id;
    return partition(query, "points", `K#${programId}#${userId}#${key}`);
  });
  const states = ["", "#D", "#F", "#C", "#H"];
  const reservations = states.map((state) =>
    query({
      table: "reservations",
      index: byUserIndex,
      hash: ["iu", `${programId}#${userId}${state}`],
    }),
  );
  const jobs = partition(query, "points", `O#${programId}`);
  const acts = query({
    table: "acts",
    index: bySubjectIndex,
    hash: ["is", `${programId}#${comparableSubject(userId)}`],
  });
  const actsAbout = query({
    table: "acts",
    index: byUserIndex,
    hash: ["iu", `${programId}#${userId}`],
  });
  const all = await Promise.all([jobs, acts, actsAbout, ...keys, ...reservations]);
  return [...account, ...ledger, ...all.flat()];
}

/** The rows of all sheets, of those that were cut off as well, and the summaries. */
async function inSheets(query: Query, programIds: readonly string[]): Promise<Found[]> {
  const bulkGrants = programIds.map((programId) =>
    query({ table: "bulk", index: "by-time", hash: ["ip", programId] }),
  );
  const names = (await Promise.all(bulkGrants)).flat();
  const all = names.map(({ item }) => partition(query, "bulk", text(item, "pk")));
  const records = (await Promise.all(all)).flat();
  const pending = await partition(query, "bulk", "P");
  const uploads = new Set([
    ...records.map(({ item }) => item.u?.S),
    ...pending.map(({ item }) => text(item, "sk")),
  ]);
  const rows = [...uploads].map((upload) => partition(query, "bulk", `U#${upload}`));
  return [...records, ...(await Promise.all(rows)).flat()];
}

/** Reactions and events of a person, with their targets and notifications, and mutes. */
async function asActor(query: Query, userId: string): Promise<Found[]> {
  const reactions = await query({ table: "reactions", index: "by-person", hash: ["sk", userId] });
  const reacted = reactions.map(async ({ item }) => {
    const [, type, id, kind] = parts(item, "pk");
    const targets = await partition(query, "reactions", `T#${type}#${id}`);
    const owners = targets.map(({ item }) => text(item, "ip"));
    const lines = owners.map((owner) => notifications(query, owner, `${kind}#${type}#${id}`));
    return [...targets, ...(await Promise.all(lines)).flat()];
  });
  const keys = await keysOfPerson(query, "reactions", userId);
  const acted = keys.map(async ({ item }) => {
    const [form, owner = "", type, id, kind] = parts(item, "pk");
    if (form !== "V") return [];
    const events = await partition(query, "reactions", text(item, "pk"), userId);
    return [...events, ...(await notifications(query, owner, `${kind}#${type}#${id}`))];
  });
  const mutes = await keysOfPerson(query, "notifications", userId);
  return [...reactions, ...mutes, ...(await Promise.all([...reacted, ...acted])).flat()];
}

/** Notifications of an owner about a target: the unread, closed and read ones. */
async function notifications(query: Query, owner: string, name: string): Promise<Found[]> {
  const unread = await partition(query, "notifications", `I#${owner}`, `U#${name}`);
  return [...unread, ...(await partition(query, "notifications", `H#${owner}`, `${name}#`))];
}

/** Targets of a person, events that the person was notified of, and all notifications. */
async function asOwner(query: Query, userId: string): Promise<Found[]> {
  const keys = await keysOfPerson(query, "reactions", userId);
  const owned = keys.map(async ({ item }) => {
    const pk = text(item, "pk");
    const [form, type, id] = parts(item, "pk");
    if (form === "V") return [];
    if (form === "W") return partition(query, "reactions", pk, text(item, "sk"));
    const purge = await partition(query, "reactions", "P", `${type}#${id}`);
    return [...(await partition(query, "reactions", pk)), ...purge];
  });
  const own = ["I", "H", "M", "T", "E"].map((form) =>
    partition(query, "notifications", `${form}#${userId}`),
  );
  const reported = await partition(query, "notifications", `E#${userId}`);
  const names = new Set(reported.map(({ item }) => `${text(item, "t")}#${text(item, "k")}`));
  const events = [...names].map((name) => partition(query, "reactions", `V#${userId}#${name}`));
  return (await Promise.all([...owned, ...own, ...events])).flat();
}
