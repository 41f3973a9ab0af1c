/** Tests the ids of the workflows that purge targets. */
import { expect, test } from "vitest";
import { purgeTargetId } from "../../../src/feed/contract/purges.ts";

test("the longest targets have ids of 255 characters, each its own", () => {
  expect(purgeTargetId({ type: "post", id: "1" })).toBe("purge-target/post/1");
  const type = "t".repeat(20);
  const ids = ["a", "b"].map((end) => purgeTargetId({ type, id: "x".repeat(255) + end }));
  expect(ids.map(({ length }) => length)).toEqual([255, 255]);
  expect(new Set(ids).size).toBe(2);
});
