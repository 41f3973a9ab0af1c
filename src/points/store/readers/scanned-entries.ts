/** Scans the points table for the ledger entries of all accounts of a program. */
import { type DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { type Item, N, parts, S, text } from "../../../platform/dynamodb/sdk/attributes.ts";
import { pageAnswer, pageOf, startOf } from "../../../platform/dynamodb/sdk/query-pages.ts";
import type { Page, PageRequest, Window } from "../../../platform/ports/pages.ts";
import type { ScannedEntry } from "../../ports/points.ts";
import { entry } from "../codecs/points.ts";

/**
 * The filter compares the first entry of an item, which is the earliest one, so an item with
 * further entries may begin before the window. The comparisons are negated, because an item whose
 * time is missing has to be reported as unreadable.
 */
export async function scanEntries(
  client: DynamoDBClient,
  TableName: string,
  programId: string,
  { start, end }: Window,
  { segment, segments }: { readonly segment: number; readonly segments: number },
  { size, cursor }: PageRequest,
): Promise<Page<ScannedEntry>> {
  const filters = ["begins_with(pk, :p)", "begins_with(sk, :l)"];
  if (start !== undefined) filters.push("(attribute_exists(l) OR NOT t < :start)");
  if (end !== undefined) filters.push("NOT t >= :end");
  const command = new ScanCommand({
    TableName,
    ConsistentRead: true,
    Segment: segment,
    TotalSegments: segments,
    Limit: size,
    FilterExpression: filters.join(" AND "),
    ExpressionAttributeValues: {
      ":p": S(`A#${programId}#`),
      ":l": S("L#"),
      ...(start !== undefined && { ":start": N(start) }),
      ...(end !== undefined && { ":end": N(end) }),
    },
    ...startOf(cursor),
  });
  const { Items = [], LastEvaluatedKey } = await pageAnswer(client.send(command), cursor);
  return pageOf(Items.flatMap(entriesOf), LastEvaluatedKey);
}

/** What every entry has. The codec reads what is missing as 0 or as empty. */
const required = [
  ["e", "S"],
  ["y", "S"],
  ["t", "N"],
  ["p", "N"],
  ["b", "N"],
] as const;

/** The entries of an item. Each is decoded alone, so that one that is damaged hides no other. */
function entriesOf(item: Item): ScannedEntry[] {
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
