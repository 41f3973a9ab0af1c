/** Tests the ids by which receivers drop what comes twice. */
import { expect, test } from "vitest";
import { messageIdOf } from "../../../src/events/published/message-id.ts";

const source = "/meguri/one/first";
const id = "points/default/aoi/17";

test("an event has one message id, and another one in the log of restored tables", () => {
  const first = messageIdOf({ source, id });
  expect(messageIdOf({ source, id })).toBe(first);
  expect(messageIdOf({ source: "/meguri/one/second", id })).not.toBe(first);
  expect(messageIdOf({ source, id: "points/default/aoi/18" })).not.toBe(first);
});

test.each(["a", "a.b%2E", "あ".repeat(200), "~".repeat(1_000)])(
  "it fits everywhere (%s)",
  (text) => {
    expect(messageIdOf({ source, id: text })).toMatch(/^[\w-]{43}$/);
  },
);
