/**
 * Evaluates the conditions and projections of reads: conjunctions of comparisons, BETWEEN,
 * begins_with and attribute_not_exists on top-level attributes. Throws for anything else.
 */
import { type AttributeMap, UnsupportedRequest } from "./wire.ts";

export type Condition = (item: AttributeMap) => boolean;

/** The members of a request that expressions refer to. */
export type Placeholders = {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: AttributeMap;
};

const TERMS = [
  /(?<between>[#\w]+) BETWEEN (?<from>:\w+) AND (?<to>:\w+)/,
  /(?<compared>[#\w]+) (?<operator>=|<=?|>=?) (?<value>:\w+)/,
  /begins_with\((?<text>[#\w]+), (?<prefix>:\w+)\)/,
  /attribute_not_exists\((?<absent>[#\w]+)\)/,
];

/** One term of a conjunction, with the AND behind it. */
const TERM = new RegExp(`^(?:${TERMS.map(({ source }) => source).join("|")})(?: AND |$)`);

const OPERATORS: Readonly<Record<string, (order: number) => boolean>> = {
  "=": (order) => order === 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/** A key condition or filter; without an expression, one that is always true. */
export function conditionOf(expression: string | undefined, names: Placeholders): Condition {
  const terms: Condition[] = [];
  let rest = expression?.trim() ?? "";
  while (rest !== "") {
    const match = TERM.exec(rest);
    if (match === null) throw new UnsupportedRequest(`the expression "${expression}"`);
    terms.push(termOf(match.groups ?? {}, names));
    rest = rest.slice(match[0].length);
  }
  return (item) => terms.every((holds) => holds(item));
}

function termOf(term: Readonly<Record<string, string>>, names: Placeholders): Condition {
  const attribute = (path: string, item: AttributeMap) => item[nameOf(path, names)];
  const value = (placeholder = "") => names.ExpressionAttributeValues?.[placeholder];
  const { between, from, to, compared, operator = "", text, prefix, absent = "" } = term;
  if (between !== undefined) {
    return (item) => {
      const found = attribute(between, item);
      return compareValues(found, value(from)) >= 0 && compareValues(found, value(to)) <= 0;
    };
  }
  if (compared !== undefined) {
    const holds = OPERATORS[operator] ?? (() => false);
    return (item) => holds(compareValues(attribute(compared, item), value(term.value)));
  }
  if (text !== undefined) {
    const start = stringOf(value(prefix)) ?? "";
    return (item) => stringOf(attribute(text, item))?.startsWith(start) ?? false;
  }
  return (item) => attribute(absent, item) === undefined;
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

const nameOf = (path: string, { ExpressionAttributeNames: names }: Placeholders) =>
  path.startsWith("#") ? (names?.[path] ?? path) : path;

/**
 * Numbers by size (exact for safe integers), strings by their UTF-8 bytes; NaN for values of
 * different types, so that no comparison holds.
 */
export function compareValues(a: unknown, b: unknown): number {
  const [numberA, numberB] = [numberOf(a), numberOf(b)];
  if (numberA !== undefined && numberB !== undefined) return Math.sign(numberA - numberB);
  const [textA, textB] = [stringOf(a), stringOf(b)];
  if (textA === undefined || textB === undefined) return Number.NaN;
  return Buffer.compare(Buffer.from(textA), Buffer.from(textB));
}

const stringOf = (value: unknown) => (value as { S?: string } | undefined)?.S;

function numberOf(value: unknown): number | undefined {
  const text = (value as { N?: string } | undefined)?.N;
  return text === undefined ? undefined : Number(text);
}
