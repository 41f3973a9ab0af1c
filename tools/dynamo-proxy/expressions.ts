/**
 * Parses and evaluates the expressions of requests: comparisons, BETWEEN, begins_with and
 * attribute_exists on top-level attributes, joined by AND, OR, NOT and brackets. Throws for
 * anything else.
 */
import { type AttributeMap, UnsupportedRequest } from "./wire.ts";

export type Condition = (item: AttributeMap) => boolean;

/** The members of a request that expressions refer to. */
export type Placeholders = {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  readonly ExpressionAttributeValues?: AttributeMap | undefined;
};

/** One condition on an attribute, with the placeholders of its values. */
export type Term = {
  readonly op: string;
  readonly path: string;
  readonly values: readonly string[];
};

export type Expression =
  | Term
  | { readonly op: "AND" | "OR"; readonly parts: readonly Expression[] }
  | { readonly op: "NOT"; readonly part: Expression };

const TERMS = [
  /(?<between>[#\w]+) BETWEEN (?<from>:\w+) AND (?<to>:\w+)/,
  /(?<compared>[#\w]+) (?<operator>=|<=?|>=?) (?<value>:\w+)/,
  /begins_with\((?<text>[#\w]+), (?<prefix>:\w+)\)/,
  /(?<exists>attribute_(?:not_)?exists)\((?<path>[#\w]+)\)/,
];

const TERM = new RegExp(TERMS.map(({ source }) => source).join("|"), "y");

const OPERATORS: Readonly<Record<string, (order: number) => boolean>> = {
  "=": (order) => order === 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/** Programs send few different expressions, but each of them often. */
const parsed = new Map<string, Expression>();

/** Parses an expression. AND binds more tightly than OR, and NOT more tightly than both. */
export function parseExpression(text: string): Expression {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  let at = 0;
  const takes = (word: string): boolean => {
    const isNext = text.startsWith(word, at);
    if (isNext) at += word.length;
    return isNext;
  };
  const unsupported = () => new UnsupportedRequest(`the expression "${text}"`);
  const joined = (op: "AND" | "OR", next: () => Expression): Expression => {
    const parts = [next()];
    while (takes(` ${op} `)) parts.push(next());
    return parts.length === 1 ? (parts[0] as Expression) : { op, parts };
  };
  const any = (): Expression => joined("OR", () => joined("AND", one));
  function one(): Expression {
    if (takes("NOT ")) return { op: "NOT", part: one() };
    if (takes("(")) {
      const inner = any();
      if (!takes(")")) throw unsupported();
      return inner;
    }
    TERM.lastIndex = at;
    const match = TERM.exec(text);
    if (match === null) throw unsupported();
    at = TERM.lastIndex;
    return termOf(match.groups ?? {});
  }
  const expression = any();
  if (at < text.length) throw unsupported();
  parsed.set(text, expression);
  return expression;
}

function termOf(found: Readonly<Record<string, string>>): Term {
  const { between, from = "", to = "", compared, operator = "", value = "" } = found;
  const { text, prefix = "", exists = "", path = "" } = found;
  if (between !== undefined) return { op: "BETWEEN", path: between, values: [from, to] };
  if (compared !== undefined) return { op: operator, path: compared, values: [value] };
  if (text !== undefined) return { op: "begins_with", path: text, values: [prefix] };
  return { op: exists, path, values: [] };
}

/** A condition or filter; without an expression, one that is always true. */
export function conditionOf(expression: string | undefined, given: Placeholders): Condition {
  if (expression === undefined) return () => true;
  const root = parseExpression(expression);
  return (item) => holds(root, item, given);
}

function holds(expression: Expression, item: AttributeMap, given: Placeholders): boolean {
  if ("parts" in expression) {
    return expression.op === "AND"
      ? expression.parts.every((part) => holds(part, item, given))
      : expression.parts.some((part) => holds(part, item, given));
  }
  if ("part" in expression) return !holds(expression.part, item, given);
  const { op, path, values } = expression;
  const found = item[nameOf(path, given)];
  const [first, second] = values.map((name) => given.ExpressionAttributeValues?.[name]);
  switch (op) {
    case "attribute_exists":
      return found !== undefined;
    case "attribute_not_exists":
      return found === undefined;
    case "begins_with":
      return stringOf(found)?.startsWith(stringOf(first) ?? "") ?? false;
    case "BETWEEN":
      return compareValues(found, first) >= 0 && compareValues(found, second) <= 0;
    default:
      return OPERATORS[op]?.(compareValues(found, first)) ?? false;
  }
}

/** The attribute names that a projection lists; undefined for all. */
export function projectionOf(
  expression: string | undefined,
  names: Placeholders,
): readonly string[] | undefined {
  const paths = expression?.split(",").map((path) => path.trim());
  if (paths?.some((path) => !/^#?\w+$/.test(path))) {
    throw new UnsupportedRequest(`the projection "${expression}"`);
  }
  return paths?.map((path) => nameOf(path, names));
}

/** The placeholders that `expression` uses: DynamoDB refuses a request with any more. */
export function placeholdersIn(expression: string | undefined, given: Placeholders): Placeholders {
  const used = new Set(expression?.match(/[#:]\w+/g));
  const kept = <T>(entries: Readonly<Record<string, T>> = {}) => {
    const found = Object.entries(entries).filter(([name]) => used.has(name));
    return found.length > 0 ? Object.fromEntries(found) : undefined;
  };
  const names = kept(given.ExpressionAttributeNames);
  const values = kept(given.ExpressionAttributeValues);
  return {
    ...(names && { ExpressionAttributeNames: names }),
    ...(values && { ExpressionAttributeValues: values }),
  };
}

/** The attribute that a path of an expression stands for. */
export const nameOf = (path: string, { ExpressionAttributeNames: names }: Placeholders): string =>
  path.startsWith("#") ? (names?.[path] ?? path) : path;

/**
 * Numbers by size (exact for safe integers), strings and bytes by their (UTF-8) bytes; NaN for
 * values of different types, so that no comparison holds.
 */
export function compareValues(a: unknown, b: unknown): number {
  const [numberA, numberB] = [numberOf(a), numberOf(b)];
  if (numberA !== undefined && numberB !== undefined) return Math.sign(numberA - numberB);
  const [bytesA, bytesB] = [bytesOf(a), bytesOf(b)];
  if (bytesA === undefined || bytesB === undefined) return Number.NaN;
  if ((stringOf(a) === undefined) !== (stringOf(b) === undefined)) return Number.NaN;
  return Buffer.compare(bytesA, bytesB);
}

const stringOf = (value: unknown) => (value as { S?: string } | undefined)?.S;

function numberOf(value: unknown): number | undefined {
  const text = (value as { N?: string } | undefined)?.N;
  return text === undefined ? undefined : Number(text);
}

/** The bytes of a string, or of a binary value, which is base64 on the wire. */
function bytesOf(value: unknown): Uint8Array | undefined {
  const { S, B } = (value ?? {}) as { readonly S?: string; readonly B?: string | Uint8Array };
  if (S !== undefined) return Buffer.from(S);
  return typeof B === "string" ? Buffer.from(B, "base64") : B;
}
