/**
 * All that is stored of a person is found from the person's id by queries, after each call that
 * stores something: what may have to be deleted one day has a path to it.
 */
import { DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import type { Kind } from "../../../src/platform/ports/records.ts";
import { codecs } from "../../../src/store/codecs.ts";
import { type Found, findPerson } from "../../support/person.ts";
import { storeAll } from "../../support/stored-items/all.ts";
import { createRecorder, type StoredItem } from "../../support/stored-items/recorder.ts";
import { createMemoryDynamo } from "../../support/stores/dynamo/memory-dynamo.ts";

/** Kinds of records that name no member: what they say, and who called, is of the program. */
const impersonal: readonly Kind[] = [
  ...(["program", "lease", "testClock", "installation", "dueHour"] as const),
  ...(["ruleChange", "earlierRuleChange"] as const),
  // Counts and hashes.
  ...(["pointsWindow", "bulkContent", "revisionContent", "pendingUpload", "blockCheck"] as const),
  // The rows of a sheet name its members.
  ...(["bulkAction", "blockOutcome"] as const),
  // The name of a reservation or of a hold.
  "pendingStart",
  // How far it has come.
  "subscription",
];

test("all that is stored of a person is found by queries", async () => {
  const recorder = createRecorder();
  await storeAll(recorder);
  const names = tableName("t-");
  const { client } = createMemoryDynamo(localTableDefinitions(names));
  const stored = new Map<string, Pick<StoredItem, "kind" | "item">>();
  const foundKinds = new Set<StoredItem["kind"]>();
  const userIds = new Set<string>();
  for (const [step, written] of Map.groupBy(recorder.stored, (each) => each.step)) {
    for (const { kind, table, op, item } of written) {
      const { pk, sk } = item;
      const TableName = names(table);
      const Key: Item = { ...(pk && { pk }), ...(sk && { sk }) };
      if (op === "put") await client.send(new PutItemCommand({ TableName, Item: item }));
      else await client.send(new DeleteItemCommand({ TableName, Key }));
      if (op === "put") stored.set(keyOf({ table, item }), { kind, item });
      else stored.delete(keyOf({ table, item }));
      for (const userId of usersOf(item)) userIds.add(userId);
    }
    for (const userId of userIds) {
      const found = new Set((await findPerson(client, names, userId)).map(keyOf));
      for (const [key, { kind, item }] of stored) {
        if (!mentions(item, userId)) continue;
        expect.soft(found, `${userId}, after "${step}"`).toContain(key);
        foundKinds.add(kind);
      }
    }
  }
  expect([...foundKinds].sort()).toEqual(
    ["rows", ...Object.keys(codecs)].filter((kind) => !impersonal.includes(kind as Kind)).sort(),
  );
});

const keyOf = ({ table, item: { pk, sk } }: Found): string => `${table} ${pk?.S} ${sk?.S ?? ""}`;

/** The users whose accounts, inboxes, reactions or events an item belongs to. */
function usersOf({ pk, sk }: Item): string[] {
  const [form, first = "", second = ""] = pk?.S?.split("#") ?? [];
  if (form === "A" || form === "K") return [second];
  if (form === "I") return [first];
  if (form !== "R" && form !== "V" && form !== "M") return [];
  const [actor = ""] = sk?.S?.split("#") ?? [];
  return actor ? [actor] : [];
}

/** Whether a text of an item names a person, by the id or the name shown, as `ann` or `Mx ANN`. */
function mentions(item: Item, userId: string): boolean {
  const names = new RegExp(String.raw`(?<![\w.-])(${userId}|${userId.toUpperCase()})(?![\w.-])`);
  return names.test(JSON.stringify(item));
}
