/** Tests which files of callers are accepted, and what is said about one that is not. */
import { expect, test } from "vitest";
import { parseCallers } from "../../../src/platform/auth/callers-file.ts";

const caller = { uri: "a", service: "b", scopes: ["points.read"] };

const parse = (...callers: object[]) => parseCallers(JSON.stringify({ callers }), []);

test("each URI is a caller with its own permissions", () => {
  expect(parse(caller, { uri: "c", service: "d", scopes: [], programs: ["cafe"] })).toEqual(
    new Map([
      ["a", { caller: { service: "b", subject: "a" }, scopes: new Set(["points.read"]) }],
      [
        "c",
        {
          caller: { service: "d", subject: "c" },
          scopes: new Set(),
          programIds: new Set(["cafe"]),
        },
      ],
    ]),
  );
});

test.each<[string, object[], string]>([
  ["two entries of a URI", [caller, { ...caller, service: "c" }], "has a URI twice"],
  ["an unknown field", [{ ...caller, program: ["x"] }], '"program"'],
  ["no scopes", [{ uri: "a", service: "b" }], "callers[0].scopes"],
  ["an empty scope", [{ ...caller, scopes: [""] }], "callers[0].scopes[0]"],
  ["an empty prefix", [{ ...caller, owners: [""] }], "callers[0].owners[0]"],
  ["holds of all", [{ ...caller, holds: "all" }], "callers[0].holds"],
  ["a part of a type", [{ ...caller, event_types: ["points"] }], "callers[0].event_types[0]"],
  ["an empty type", [{ ...caller, event_types: [""] }], "callers[0].event_types[0]"],
  ["a bad service", [{ ...caller, service: "b#" }], "callers[0].service"],
  ["a bad URI", [{ ...caller, uri: "a b" }], "callers[0].uri"],
])("a file with %s is refused with what is wrong", (_, callers, text) => {
  const parsing = () => parse(...callers);
  expect(parsing).toThrow("callers: ");
  expect(parsing).toThrow(text);
});

test.each(["[]", '{"callers":[],"more":1}'])(
  "a file of another shape is refused: %s",
  (content) => {
    expect(() => parseCallers(content, [])).toThrow("callers: ");
  },
);

test("a file that is no JSON is refused", () => {
  expect(() => parseCallers("callers", [])).toThrow(SyntaxError);
});

test("a file is refused whose callers lack a limit that the server requires", () => {
  const content = JSON.stringify({ callers: [{ ...caller, owners: ["o-"] }] });
  expect(parseCallers(content, ["owners"]).size).toBe(1);
  expect(() => parseCallers(content, ["owners", "actors"])).toThrow(
    "callers: a has no limit actors",
  );
});
