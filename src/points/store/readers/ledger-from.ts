/** Reads a ledger from a number on, entry by entry, so that one that is damaged hides no other. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type Item, parts, text } from "../../../platform/dynamodb/sdk/attributes.ts";
import { query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import type { Page, PageRequest } from "../../../platform/ports/pages.ts";
import type { AccountName, StoredEntry } from "../../ports/points.ts";
import { entry } from "../codecs/points.ts";
import { itemsFrom } from "../ledger-items.ts";

export async function listLedgerFrom(
  client: DynamoDBClient,
  TableName: string,
  { programId, userId }: AccountName,
  from: number,
  page: PageRequest,
): Promise<Page<StoredEntry>> {
  const range = itemsFrom(`${programId}#${userId}`, from);
  const { items, ...found } = await query(client, page, entriesOf, { TableName, ...range });
  return { ...found, items: items.flat() };
}

/** What every entry has. The codec reads what is missing as 0 or as empty. */
const required = [
  ["e", "S"],
  ["y", "S"],
  ["t", "N"],
  ["p", "N"],
  ["b", "N"],
] as const;

/** The entries of an item, each of which is decoded alone. */
function entriesOf(item: Item): StoredEntry[] {
  const [, programId, userId = ""] = parts(item, "pk");
  const first = Number(text(item, "sk").slice(2));
  const packed = (item.l?.L ?? []).map(({ M }) => M);
  return [item, ...packed].map((attributes, i) => {
    const number = first + i;
    try {
      const missing = required.filter(([name, type]) => attributes?.[name]?.[type] === undefined);
      if (missing.length > 0) throw new Error(`attributes are missing: ${missing.join(", ")}`);
      const key = entry.key(`${programId}#${userId}#${number}`);
      return { userId, number, entry: entry.decode({ ...attributes, ...key }) };
    } catch (error) {
      return { userId, number, error };
    }
  });
}
