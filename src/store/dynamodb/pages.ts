import {
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { Page, PageRequest } from "../../app/ports.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Item } from "./attributes.ts";
import { orUnavailable } from "./client.ts";

/** One page of a query: as many matches as asked for, or fewer where a filter left some out. */
export async function query<T>(
  client: DynamoDBClient,
  { size, cursor }: PageRequest,
  decode: (item: Item) => T,
  input: QueryCommandInput,
): Promise<Page<T>> {
  const command = new QueryCommand({ ...input, Limit: size, ...startOf(cursor) });
  const { Items: items = [], LastEvaluatedKey } = await ask(client, command, cursor);
  return pageOf(items.map(decode), LastEvaluatedKey);
}

/** A cursor comes from outside: one that does not fit the query is the caller's mistake. */
export async function ask(
  client: DynamoDBClient,
  command: QueryCommand,
  cursor: string | undefined,
) {
  try {
    return await orUnavailable(client.send(command));
  } catch (error) {
    const { name } = error as Error;
    throw cursor !== undefined && name === "ValidationException" ? badCursor() : error;
  }
}

export const badCursor = () =>
  new DomainError("INVALID_REQUEST", "page_token does not belong to this list", {
    field: "page_token",
  });

export function startOf(cursor: string | undefined): { ExclusiveStartKey?: Item } {
  if (cursor === undefined) return {};
  try {
    return { ExclusiveStartKey: JSON.parse(cursor) as Item };
  } catch {
    throw badCursor();
  }
}

export const pageOf = <T>(items: T[], last: Item | undefined): Page<T> =>
  last ? { items, cursor: JSON.stringify(last) } : { items };
