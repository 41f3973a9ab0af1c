/** Tests the fields of stored records: there and back, and what is missing or of another type. */
import { describe, expect, test } from "vitest";
import { approval, caller } from "../../../src/platform/dynamodb/callers.ts";
import {
  as,
  bool,
  byName,
  digits,
  either,
  type Field,
  type Fields,
  field,
  flag,
  flat,
  group,
  list,
  map,
  maybe,
  number,
  numberAt,
  numberOf,
  optional,
  partOf,
  text,
  tuple,
  unless,
  unlessEmpty,
  unlessSame,
} from "../../../src/platform/dynamodb/fields.ts";
import { type Item, N, numbers, S } from "../../../src/platform/dynamodb/sdk/attributes.ts";

/** A field, a value and its attributes: for a table of fields of several types. */
const stored = <T>(name: string, { put, get }: Field<T>, value: T, item: Item) =>
  [name, { put: (into: Item) => put(value, into), get, value, item }] as const;

const damaged = <T>(name: string, { get }: Field<T>, item: Item, none: T) =>
  [name, get, item, none] as const;

interface Pair {
  readonly name: string;
  readonly count?: number;
}
const x: Required<Pair> = { name: "x", count: 1 };
const pair = tuple<Required<Pair>>({ name: text, count: number });
const pairs = flat<Required<Pair>>({ name: text, count: number });
const fields: Fields<Pair> = { name: field("a", text), count: optional("b", number) };
const parts = group(fields);
const length = as(
  text,
  (value: number) => ".".repeat(value),
  (dots) => dots.length,
);
const person = { service: "s", subject: "x" };
const approved = { caller: person, time: 1, reason: "" };
const [first, second] = [numberAt("a", 0), numberAt("a", 1)];

describe("a field", () => {
  test.each([
    stored("a text", field("a", text), "x", { a: S("x") }),
    stored("a number", field("a", number), 7, { a: N(7) }),
    stored("a long number", field("a", digits), "9".repeat(38), { a: { N: "9".repeat(38) } }),
    stored("a boolean", field("a", bool), false, { a: { BOOL: false } }),
    stored("a list", field("a", list(number)), [1, 2], { a: numbers([1, 2]) }),
    stored("values by name", field("a", byName(number)), { x: 1 }, { a: { M: { x: N(1) } } }),
    stored("a map", field("a", map(fields)), x, { a: { M: { a: S("x"), b: N(1) } } }),
    stored("a tuple", field("a", pair), x, { a: { L: [S("x"), N(1)] } }),
    stored("tuples", field("a", pairs), [x, x], { a: { L: [S("x"), N(1), S("x"), N(1)] } }),
    stored("another form", field("a", length), 3, { a: S("...") }),
    stored("an optional one", optional("a", text), "x", { a: S("x") }),
    stored("an absent one", optional("a", text), undefined, {}),
    stored("a usual value", unless("", "a", text), "", {}),
    stored("another value", unless("", "a", text), "x", { a: S("x") }),
    stored("no values", unlessEmpty("a", list(text)), [], {}),
    stored("some values", unlessEmpty("a", list(text)), ["x"], { a: { L: [S("x")] } }),
    stored("a mark", either("a", "X", "Y"), "X", { a: { BOOL: true } }),
    stored("no mark", either("a", "X", "Y"), "Y", {}),
    stored("a flag", flag("a"), false, {}),
    stored("a service", caller("a"), { service: "s", subject: "s" }, { a: S("s") }),
    stored("a person", caller("a"), person, { a: S("s"), as: S("x") }),
    stored("an approval", field("a", approval), approved, {
      a: { L: [S("s"), N(1), S(""), S("x")] },
    }),
    stored("a group", parts, x, { a: S("x"), b: N(1) }),
    stored("a group without a part", parts, { name: "x" }, { a: S("x") }),
    stored("an absent group", maybe(parts), undefined, {}),
    stored(
      "numbers in a list",
      group({ first, second }),
      { first: 1, second: 2 },
      {
        a: numbers([1, 2]),
      },
    ),
  ])("stores %s", (_, { put, get, value, item }) => {
    const into = {};
    put(into);
    expect(into).toEqual(item);
    expect(get(item)).toStrictEqual(value);
  });

  test("stores a tuple whose last part is absent", () => {
    const { encode, decode } = tuple<Pair>({ name: text, count: number }, 1);
    expect(encode({ name: "x" })).toEqual({ L: [S("x")] });
    expect(decode({ L: [S("x")] })).toStrictEqual({ name: "x" });
  });

  test("stores a number only where it differs from another one", () => {
    const { put, get } = unlessSame("a", "t");
    const [same, other]: [Item, Item] = [{ t: N(1) }, { t: N(1) }];
    put(1, same);
    put(2, other);
    expect([same, other]).toEqual([{ t: N(1) }, { t: N(1), a: N(2) }]);
    expect([same, other].map(get)).toEqual([1, 2]);
  });

  test("reads parts of keys, which it does not write", () => {
    const { put, get } = group({ id: partOf("pk", 1), count: numberOf("pk", 2) });
    const item: Item = { pk: S("A#x#7") };
    expect(get(item)).toEqual({ id: "x", count: 7 });
    put({ id: "y", count: 8 }, item);
    expect(item).toEqual({ pk: S("A#x#7") });
  });
});

test.each([
  damaged("no attribute", field("a", text), {}, ""),
  damaged("a number for a text", field("a", text), { a: N(1) }, ""),
  damaged("a text for a number", field("a", number), { a: S("1") }, 0),
  damaged("an optional one of another type", optional("a", number), { a: S("1") }, 0),
  damaged("a usual one of another type", unless("", "a", text), { a: N(1) }, ""),
  damaged("a text for a list", unlessEmpty("a", list(text)), { a: S("x") }, []),
  damaged("a value of a list", field("a", list(number)), { a: { L: [S("x"), N(1)] } }, [0, 1]),
  damaged("a value by its name", field("a", byName(number)), { a: { M: { x: S("x") } } }, { x: 0 }),
  damaged("a field of a map", field("a", map(fields)), { a: { M: {} } }, { name: "" }),
  damaged("a part of a tuple", field("a", pair), { a: { L: [S("x")] } }, { name: "x", count: 0 }),
  damaged("another form", field("a", length), {}, 0),
  damaged("a part of a group", maybe(parts), { a: S("x"), b: S("x") }, { name: "x", count: 0 }),
  damaged("a caller", caller("a"), {}, { service: "", subject: "" }),
  damaged("a number in a list", second, { a: numbers([1]) }, 0),
  damaged("a part of a key", partOf("pk", 1), { pk: S("A") }, ""),
])("%s that is missing or of another type reads as none", (_, get, item, none) => {
  expect(get(item)).toEqual(none);
});
