/** Tests how a source string is read. */
import { describe, expect, test } from "vitest";
import { parseSource, withoutVersion } from "../../../src/platform/words/source-string.ts";

describe("a source string", () => {
  test("has a name, a path and perhaps a version", () => {
    const parts = { name: "nightly", path: "2026/a#b.csv" };
    expect(parseSource("nightly/2026/a#b.csv")).toEqual(parts);
    const version = "0123456789ab";
    expect(parseSource(`nightly/2026/a#b.csv#${version}`)).toEqual({ ...parts, version });
    expect(parseSource("nightly")).toBeUndefined();
  });

  test("is shown without its version", () => {
    expect(withoutVersion("nightly/a.csv#0123456789ab")).toBe("nightly/a.csv");
    expect(withoutVersion("nightly/a.csv#0123")).toBe("nightly/a.csv#0123");
    expect(withoutVersion("nightly")).toBe("nightly");
  });
});
