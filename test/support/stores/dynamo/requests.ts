/** Refuses what DynamoDB refuses of a request, and what DynamoDB in memory does not know. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  type Expression,
  nameOf,
  type Placeholders,
  parseExpression,
} from "../../../../tools/dynamo-proxy/expressions.ts";
import { UnsupportedRequest } from "../../../../tools/dynamo-proxy/wire.ts";
import { invalid } from "./errors.ts";
import type { Keys, Table } from "./items.ts";

const expressionMembers = ["TableName", "ExpressionAttributeNames", "ExpressionAttributeValues"];
const pageMembers = [
  ...expressionMembers,
  ...["ConsistentRead", "FilterExpression", "ProjectionExpression", "Limit", "ExclusiveStartKey"],
];
const writeMembers = [
  ...expressionMembers,
  ...["ConditionExpression", "ReturnValuesOnConditionCheckFailure"],
];

/** The members of the commands' input that are known here. */
const members = {
  GetItemCommand: ["TableName", "Key", "ConsistentRead"],
  BatchGetItemCommand: ["RequestItems"],
  QueryCommand: [
    ...pageMembers,
    ...["IndexName", "KeyConditionExpression", "ScanIndexForward", "Select"],
  ],
  ScanCommand: [...pageMembers, "Segment", "TotalSegments"],
  PutItemCommand: [...writeMembers, "Item"],
  DeleteItemCommand: [...writeMembers, "Key"],
  BatchWriteItemCommand: ["RequestItems"],
  TransactGetItemsCommand: ["TransactItems"],
  TransactWriteItemsCommand: ["TransactItems", "ClientRequestToken"],
};

export type CommandName = keyof typeof members;

/** Throws for a command that is not known, or that has other members. */
export function checkCommand(name: string, input: object): asserts name is CommandName {
  if (!(name in members)) throw new UnsupportedRequest(`the command ${name}`);
  const known: readonly string[] = members[name as CommandName];
  const unknown = Object.keys(input).filter((member) => !known.includes(member));
  if (unknown.length > 0) throw new UnsupportedRequest(`${name} with ${unknown.join(", ")}`);
}

interface Expressions extends Placeholders {
  readonly ConditionExpression?: string | undefined;
  readonly FilterExpression?: string | undefined;
  readonly KeyConditionExpression?: string | undefined;
  readonly ProjectionExpression?: string | undefined;
}

/** Throws unless the expressions of a request use all of its placeholders, and no others. */
export function checkExpressions(request: Expressions): void {
  const conditions = [request.ConditionExpression, request.FilterExpression];
  const texts = [...conditions, request.KeyConditionExpression, request.ProjectionExpression];
  const used = placeholdersOf(texts.join("\n"));
  const given = [
    ...Object.keys(request.ExpressionAttributeNames ?? {}),
    ...Object.keys(request.ExpressionAttributeValues ?? {}),
  ];
  if (given.length !== used.size || !given.every((name) => used.has(name))) {
    throw invalid(`the expressions use ${[...used]}, but ${given} are given`);
  }
  for (const text of conditions) if (text !== undefined) checkOperands(text, request);
}

/** Programs send few different expressions, but each of them often. */
const known = new Map<string, ReadonlySet<string>>();

function placeholdersOf(text: string): ReadonlySet<string> {
  const found = known.get(text) ?? new Set(text.match(/[#:]\w+/g));
  known.set(text, found);
  return found;
}

/** Throws for a prefix that is no text, and for a range that ends before it starts. */
function checkOperands(text: string, given: Placeholders): void {
  for (const { op, values } of termsOf(parseExpression(text))) {
    const [first, second] = values.map(
      (name) => given.ExpressionAttributeValues?.[name] as AttributeValue,
    );
    if (op === "begins_with" && first?.S === undefined) throw invalid("the prefix is no text");
    if (op === "BETWEEN" && Number(first?.N) > Number(second?.N)) throw invalid("an empty range");
  }
}

/** DynamoDB refuses a filter of a query by the keys of its index. */
export function checkFilter(text: string, keys: Keys, given: Placeholders): void {
  const isKey = (path: string) => [keys.hash, keys.range].includes(nameOf(path, given));
  if (termsOf(parseExpression(text)).some(({ path }) => isKey(path))) {
    throw invalid("a filter has no attributes of the key");
  }
}

/** The terms of an expression, however they are joined. */
export function termsOf(expression: Expression): Extract<Expression, { path: string }>[] {
  if ("parts" in expression) return expression.parts.flatMap(termsOf);
  return "part" in expression ? termsOf(expression.part) : [expression];
}

interface BatchPart {
  readonly table: Table;
  readonly keys: readonly string[];
}

/** Throws if a batch or a transaction names no item, too many items, or one of them twice. */
export function checkItems(parts: readonly BatchPart[], limit: number): void {
  const names = parts.flatMap(({ table, keys }) => keys.map((key) => `${table.name} ${key}`));
  if (names.length < 1 || names.length > limit) throw invalid(`not 1 to ${limit} items`);
  if (new Set(names).size < names.length) throw invalid("an item is named twice");
}
