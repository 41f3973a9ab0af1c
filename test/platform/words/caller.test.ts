/** Tests how callers are compared and shown. */
import { expect, test } from "vitest";
import {
  asService,
  displayCaller,
  isSameSubject,
  noCaller,
  withActor,
} from "../../../src/platform/words/caller.ts";

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

test("a list of those who have changed something has each name once, and the latest eight", () => {
  const namesOf = (...subjects: string[]) =>
    subjects.map(asService).reduce<readonly string[]>(withActor, []);
  expect(namesOf("alice", "ben", "alice")).toEqual(["alice", "ben"]);
  expect(withActor(["alice"], noCaller)).toEqual(["alice"]);
  expect(namesOf(..."abcdefghij")).toEqual([..."cdefghij"]);
});
