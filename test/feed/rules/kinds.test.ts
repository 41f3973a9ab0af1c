/** Tests that the kinds of reactions and of events differ, by value and by type. */
import { expect, test } from "vitest";
import {
  defaultKind,
  eventKind,
  isEventKind,
  kindName,
  type ReactionKind,
} from "../../../src/feed/rules/kinds.ts";

test("an event and a reaction of one name have two kinds", () => {
  const ofEvents = eventKind("like");
  expect(ofEvents).not.toBe(defaultKind);
  expect([isEventKind(ofEvents), isEventKind("like")]).toEqual([true, false]);
  expect([kindName(ofEvents), kindName("like")]).toEqual(["like", "like"]);
});

test("the kind of an event is not taken for that of a reaction", () => {
  const react = (kind: ReactionKind) => kind;
  // @ts-expect-error The compiler refuses it.
  expect(react(eventKind("like"))).toBe("~like");
});
