/** Tests which texts are kinds of reactions and events, and which of them are the same kind. */
import { describe, expect, test } from "vitest";
import { toKind, toKinds, toReactionKind } from "../../../src/feed/rpc/kinds.ts";

describe("a kind", () => {
  test.each([
    ...["+1", "-1", "👍", "👍🏽", "slightly_smiling_face", "名札", "が", "🇯🇵"],
    ...["👩‍💻", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "a/b~c", "constructor"],
  ])("%j stays as it is", (kind) => {
    expect(toKind(kind)).toBe(kind);
  });

  test.each([
    ["❤️", "❤"],
    ["❤️‍🔥", "❤‍🔥"],
    ["🏳️‍🌈", "🏳‍🌈"],
    ["1️⃣", "1⃣"],
    ["\u2194\ufe0f\u0338", "\u21ae"],
  ])("%j is stored as %j, and is the same", (sent, stored) => {
    expect([toKind(sent), toKind(stored)]).toEqual([stored, stored]);
  });

  test.each([
    "e\u0301",
    "a\ufe0f",
    "👍\ufe0e",
    "a\u200db",
    "👍\u200d",
    "\u3164",
    "\u2800",
    "__proto__",
  ])("%j is none", (text) => {
    expect(() => toKind(text)).toThrow(/^kind: /);
  });

  test("is like where a reaction names none, and once in a list", () => {
    expect(toReactionKind("")).toBe("like");
    expect(toKinds(["❤️", "❤", "+1"], "kinds")).toEqual(["❤", "+1"]);
    expect(() => toKinds(["a", "a\u3164"], "kinds")).toThrow(/^kinds\[1\]: /);
  });
});
