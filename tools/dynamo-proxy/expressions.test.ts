/** Tests the conditions and projections that the fault proxy evaluates itself. */
import { describe, expect, test } from "vitest";
import { compareValues, conditionOf, placeholdersIn, projectionOf } from "./expressions.ts";
import { UnsupportedRequest } from "./wire.ts";

const S = (text: string) => ({ S: text });
const N = (number: number) => ({ N: String(number) });
const B = (text: string) => ({ B: Buffer.from(text) });
const item = { pk: S("A#p#u"), sk: S("A"), n: N(10), x: N(2), t: S("é") };

describe("conditions", () => {
  const values = {
    ":p": S("A#p#"),
    ":k": S("A"),
    ":nine": N(9),
    ":ten": N(10),
    ":z": S("z"),
  };

  test.each([
    ["sk = :k AND begins_with(pk, :p)", true],
    ["begins_with(pk, :z)", false],
    ["begins_with(gone, :k)", false],
    ["attribute_not_exists(gone) AND n = :ten", true],
    ["attribute_not_exists(n)", false],
    ["n > :nine", true],
    ["x > :nine", false],
    ["n >= :ten AND n <= :ten", true],
    ["n < :ten", false],
    ["n BETWEEN :nine AND :ten AND sk = :k", true],
    ["x BETWEEN :nine AND :ten", false],
    ["#name = :ten", true],
    // Strings are ordered by their bytes.
    ["t > :z", true],
    // Values of different types are neither equal nor in an order.
    ["n > :k", false],
    ["n <= :k", false],
    ["gone <= :ten", false],
    ["NOT gone <= :ten", true],
    ["attribute_exists(n) AND NOT attribute_exists(gone)", true],
    ["n = :nine OR x = :nine", false],
    ["n = :nine OR n = :ten", true],
    ["n = :ten OR x = :nine AND x = :ten", true],
    ["(n = :ten OR x = :nine) AND x = :ten", false],
    ["sk = :k AND (x = :ten OR NOT n < :ten)", true],
    [undefined, true],
  ])("%s", (expression, holds) => {
    const names = {
      ExpressionAttributeNames: { "#name": "n" },
      ExpressionAttributeValues: values,
    };
    expect(conditionOf(expression, names)(item)).toBe(holds);
  });

  test.each(["contains(a, :a)", "a.b = :a", "a <> :a", "(a = :a", "a = :a)", "a = :a AND", ""])(
    "%s is not supported",
    (expression) => {
      expect(() => conditionOf(expression, {})).toThrow(UnsupportedRequest);
    },
  );
});

test("projections list top-level attributes", () => {
  const names = { ExpressionAttributeNames: { "#n": "n" } };
  expect(projectionOf("pk, #n", names)).toEqual(["pk", "n"]);
  expect(projectionOf(undefined, names)).toBeUndefined();
  expect(() => projectionOf("a.b", names)).toThrow(UnsupportedRequest);
  expect(() => projectionOf("a[0]", names)).toThrow(UnsupportedRequest);
});

test("only the placeholders that are used are kept", () => {
  const given = {
    ExpressionAttributeNames: { "#a": "a", "#b": "b" },
    ExpressionAttributeValues: { ":a": N(1), ":ab": N(2) },
  };
  expect(placeholdersIn("#a = :ab", given)).toEqual({
    ExpressionAttributeNames: { "#a": "a" },
    ExpressionAttributeValues: { ":ab": N(2) },
  });
  expect(placeholdersIn(undefined, given)).toEqual({});
});

test("values are compared within their type", () => {
  expect(compareValues(N(9), N(10))).toBe(-1);
  expect(compareValues({ N: "1.0" }, N(1))).toBe(0);
  expect(compareValues(S("10"), S("9"))).toBe(-1);
  expect(compareValues(S("1"), N(1))).toBeNaN();
  expect(compareValues(B("a"), B("b"))).toBe(-1);
  expect(compareValues(B("a"), { B: Buffer.from("a").toString("base64") })).toBe(0);
  expect(compareValues(B("a"), S("a"))).toBeNaN();
});
