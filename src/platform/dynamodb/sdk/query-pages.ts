/** Reads pages of queries and scans. A cursor is the last key of the page before, as JSON. */
import {
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
} from "@aws-sdk/client-dynamodb";
import { badCursor, type Page, type PageRequest } from "../../ports/pages.ts";
import type { Item } from "./attributes.ts";
import { orUnavailable } from "./client.ts";

/** One page of a query. It has fewer items than `size` where a filter has dropped some. */
export async function query<T>(
  client: DynamoDBClient,
  { size, cursor }: PageRequest,
  decode: (item: Item) => T,
  input: QueryCommandInput,
): Promise<Page<T>> {
  const command = new QueryCommand({ ...input, Limit: size, ...startOf(cursor) });
  const { Items: items = [], LastEvaluatedKey } = await pageAnswer(client.send(command), cursor);
  return pageOf(items.map(decode), LastEvaluatedKey);
}

/**
 * Waits for a page. A cursor comes from outside: throws INVALID_REQUEST if DynamoDB does not accept
 * it for this query, and THROTTLED or STORE_UNAVAILABLE if the store does not answer.
 */
export async function pageAnswer<T>(answer: Promise<T>, cursor: string | undefined): Promise<T> {
  try {
    return await orUnavailable(answer);
  } catch (error) {
    const { name } = error as Error;
    throw cursor !== undefined && name === "ValidationException" ? badCursor() : error;
  }
}

/** The start key of a page. Throws INVALID_REQUEST if the cursor is not the key of an item. */
export function startOf(cursor: string | undefined): { ExclusiveStartKey?: Item } {
  if (cursor === undefined) return {};
  const key = parsed(cursor);
  if (!isObject(key) || !Object.values(key).every(isKeyValue)) throw badCursor();
  return { ExclusiveStartKey: key as Item };
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(cursor);
  } catch {
    throw badCursor();
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Key attributes are strings or numbers, and never empty. */
function isKeyValue(value: unknown): boolean {
  if (!isObject(value)) return false;
  const [[type, text] = [], ...further] = Object.entries(value);
  const isText = typeof text === "string" && text !== "";
  return isText && (type === "S" || type === "N") && further.length === 0;
}

/** The cursor behind an item, by all its attributes that are keys of the table or the index. */
export const cursorOf = (key: Item): string => JSON.stringify(key);

export const pageOf = <T>(items: T[], last: Item | undefined): Page<T> =>
  last ? { items, cursor: cursorOf(last) } : { items };
