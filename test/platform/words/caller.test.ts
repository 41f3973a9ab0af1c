/** Tests how callers are compared and shown. */
import { expect, test } from "vitest";
import { asService, displayCaller, isSameSubject } from "../../../src/platform/words/caller.ts";

test("one person is the same through two services, and two people of one service are not", () => {
  const [byShop, byDesk] = [
    { service: "shop", subject: "alice" },
    { service: "desk", subject: "alice" },
  ];
  expect(isSameSubject(byShop, byDesk)).toBe(true);
  expect(isSameSubject(byShop, { service: "shop", subject: "ben" })).toBe(false);
  expect(isSameSubject(asService("shop"), byShop)).toBe(false);
});

test("a service is shown by its name, a subject with the service that has called", () => {
  expect(displayCaller(asService("shop"))).toBe("shop");
  expect(displayCaller({ service: "shop", subject: "alice" })).toBe("alice via shop");
});
