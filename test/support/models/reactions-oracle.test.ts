/** Tests of the reactions oracle on histories made by hand. */
import { beforeEach, expect, test } from "vitest";
import { Oracle } from "./reactions-oracle.ts";
import {
  type Answer,
  eventsOf,
  type GroupName,
  noTarget,
  type Request,
  type RequestOf,
} from "./reactions-requests.ts";
import type { Member } from "./reactions-state.ts";

const hour = 3_600_000;
const ownerId = "owner";
const target = { type: "post", id: "p" };
const likes: GroupName = { target, kind: "like" };
const comments: GroupName = { target, kind: eventsOf("comment") };

let oracle: Oracle;
let now: number;

const send = (request: Request): Answer => oracle.apply(request, now);

beforeEach(() => {
  oracle = new Oracle({ ownerId, keptMs: 90 * 24 * hour });
  now = hour;
  send({ op: "register", target, title: "" });
});

const like = (userId: string, given: Partial<RequestOf<"react">> = {}) => {
  const plain = { exclusive: false, silent: false };
  const rules = { coolDownMs: undefined, regroupAfterMs: undefined };
  return send({ op: "react", ...likes, userId, displayName: userId, ...plain, ...rules, ...given });
};
const unlike = (userId: string) => send({ op: "unreact", ...likes, userId });
const report = (eventId: string, userId: string, given: Partial<RequestOf<"notify">> = {}) => {
  const event = { service: "blog", eventId, userId, displayName: userId, link: "", data: "" };
  return send({ op: "notify", ...comments, ...event, regroupAfterMs: undefined, ...given });
};
const takeBack = (eventId: string) => send({ op: "retract", service: "blog", eventId, target });
const mark = (group: GroupName, generation: number, version: number) =>
  send({ op: "read", ...group, generation, version });

const memberText = ({ userId, version }: Member) => `${userId} ${version}`;

/** The notifications as text: state, generation and the members with their versions. */
const all = () =>
  oracle.notifications.map(
    ({ state, generation, members }) =>
      `${state} ${generation}: ${members.map(memberText).join(", ")}`,
  );

test("a mark that divides gives the name to the part that is read", () => {
  for (const userId of ["a", "b", "c"]) like(userId);
  expect(mark(likes, 1, 2)).toMatchObject({ changed: true, badge: { actorCount: 1 } });
  expect(all()).toEqual(["open 3: c 3", "read 1: a 1, b 2"]);
  like("d");
  expect(mark(likes, 3, 9)).toMatchObject({ changed: true });
  expect(all()).toEqual(["read 1: a 1, b 2", "read 3: c 3, d 5"]);
});

test("who takes back and repeats while it is unread comes back to the old place", () => {
  for (const userId of ["a", "b"]) like(userId);
  unlike("a");
  send({ op: "seen", version: 9 });
  like("a");
  expect(all()).toEqual(["open 1: a 1, b 2"]);
  expect(oracle.badge).toMatchObject({ version: 5, unseenNotificationCount: 0 });
  unlike("b");
  unlike("a");
  expect(all()).toEqual([]);
  like("b");
  expect(all()).toEqual(["open 1: b 2"]);
});

test("who left before the mark comes in as a new one", () => {
  for (const userId of ["a", "b"]) like(userId);
  unlike("a");
  mark(likes, 1, 3);
  like("a");
  expect(all()).toEqual(["read 1: b 2", "open 5: a 5"]);
});

test("the cool-down counts from the mark, by the rule of the call", () => {
  like("a");
  now = 100 * hour;
  mark(likes, 1, 1);
  unlike("a");
  now += 23 * hour;
  like("a");
  expect(all()).toEqual(["read 1: a 1"]);
  unlike("a");
  like("a", { coolDownMs: 0 });
  expect(all()).toEqual(["read 1: a 1", "open 6: a 6"]);
});

test("an exclusive reaction in the place of one that was read is quiet, too", () => {
  like("a");
  mark(likes, 1, 1);
  like("a", { kind: "love", exclusive: true });
  like("a", { kind: "wow", exclusive: true });
  expect(oracle.badge.notificationCount).toBe(0);
  now += 24 * hour;
  like("a", { exclusive: true });
  expect(oracle.badge.notificationCount).toBe(1);
});

test("an old notification takes in nobody new", () => {
  like("a");
  like("b");
  now = 3 * hour;
  like("c", { regroupAfterMs: hour });
  like("d", { regroupAfterMs: hour });
  expect(all()).toEqual(["closed 1: a 1, b 2", "open 3: c 3, d 4"]);
  unlike("b");
  like("b");
  expect(all()).toEqual(["closed 1: a 1, b 2", "open 3: c 3, d 4"]);
  expect(oracle.badge.kindCounts).toEqual({ like: 2 });
});

test("who leaves the open notification comes back after a mark of a closed one", () => {
  like("a");
  now += 3 * hour;
  like("b", { regroupAfterMs: hour });
  unlike("b");
  mark(likes, 1, 1);
  like("b");
  expect(all()).toEqual(["read 1: a 1", "open 2: b 2"]);
});

test("every event is a member, and its actor counts once", () => {
  report("1", "a");
  report("2", "a");
  report("3", "b");
  expect(oracle.badge).toMatchObject({ notificationCount: 1, actorCount: 2 });
  mark(comments, 1, 1);
  expect(oracle.badge).toMatchObject({ notificationCount: 1, actorCount: 2 });
  expect(report("1", "a")).toEqual({ notified: false, replayed: true, retracted: false });
  expect(report("2", "a")).toEqual({ notified: true, replayed: true, retracted: false });
  expect(report("2", "b")).toEqual({ refused: "ID_REUSED" });
});

test("an event is taken back wherever it is", () => {
  for (const eventId of ["1", "2", "3"]) report(eventId, "a");
  mark(comments, 1, 2);
  expect(takeBack("3")).toEqual({ changed: true });
  expect(takeBack("3")).toEqual({ changed: false });
  expect(takeBack("1")).toEqual({ changed: true });
  expect(takeBack("4")).toEqual({ refused: "EVENT_NOT_FOUND" });
  expect(all()).toEqual(["read 1: a 2"]);
  takeBack("2");
  expect(all()).toEqual([]);
  expect(report("3", "a")).toEqual({ notified: false, replayed: true, retracted: true });
});

test("an event about the target of another owner ends with the target", () => {
  const owner = new Oracle({ ownerId: "other", keptMs: 90 * 24 * hour });
  const about = { type: "post", id: "theirs" };
  const report = (eventId: string) => {
    const event = { service: "blog", eventId, userId: "a", displayName: "a", link: "", data: "" };
    const rules = { regroupAfterMs: undefined, namesOwners: true };
    return send({ op: "notify", target: about, kind: eventsOf("mention"), ...event, ...rules });
  };
  expect(report("1")).toEqual({ refused: "TARGET_NOT_FOUND" });
  owner.apply({ op: "register", target: about, title: "" }, now);
  owner.apply({ op: "mute", target: about, muted: true }, now);
  oracle.follow(about, owner);
  expect(report("1")).toMatchObject({ notified: true });
  owner.apply({ op: "delete", target: about }, now);
  oracle.follow(about, owner);
  oracle.follow(about, owner);
  expect(oracle.badge).toMatchObject({ version: 2, notificationCount: 0 });
  expect(report("2")).toEqual({ refused: "TARGET_DELETED" });
  expect(report("1")).toEqual({ notified: false, replayed: true, retracted: false });
});

test("events without a target and muted kinds are told apart from reactions", () => {
  const mutedKinds = ["comment"];
  const preferences = { allMuted: false, mutedKinds, mutedEventKinds: ["like"] };
  send({ op: "prefer", preferences });
  report("1", "a", { target: noTarget });
  report("2", "a", { kind: eventsOf("like") });
  like("a");
  expect(oracle.badge.kindCounts).toEqual({ "~comment": 1, like: 1 });
});

test("a read notification becomes unread with the same name, and takes in nobody", () => {
  like("a");
  mark(likes, 1, 1);
  expect(send({ op: "unread", ...likes, generation: 1 })).toMatchObject({ changed: true });
  like("b");
  expect(all()).toEqual(["closed 1: a 1", "open 4: b 4"]);
  expect(send({ op: "unread", ...likes, generation: 1 })).toMatchObject({ changed: false });
  const refusal = { refused: "NOTIFICATION_NOT_FOUND" };
  expect(send({ op: "unread", ...likes, generation: 2 })).toEqual(refusal);
});

test("what is dismissed leaves no history", () => {
  for (const userId of ["a", "b"]) like(userId);
  send({ op: "dismiss", ...likes, generation: 1, version: 1 });
  expect(all()).toEqual(["open 2: b 2"]);
  mark(likes, 2, 2);
  send({ op: "dismiss", ...likes, generation: 2, version: 2 });
  expect(all()).toEqual([]);
});

test("a blocked person leaves all notifications", () => {
  like("a");
  like("b");
  mark(likes, 1, 2);
  report("1", "a");
  expect(send({ op: "block", userId: "a" })).toMatchObject({ changed: true });
  expect(all()).toEqual(["read 1: b 2"]);
  report("2", "a");
  expect(oracle.badge.notificationCount).toBe(0);
});

test("a kind is counted only if all of its notifications are", () => {
  const kind = (i: number) => `k${String(i).padStart(2, "0")}`;
  for (let i = 0; i < 16; i++) like("a", { kind: kind(i) });
  report("1", "a");
  expect(Object.keys(oracle.badge.kindCounts)).toHaveLength(16);
  send({ op: "unreact", target, kind: kind(0), userId: "a" });
  report("2", "a", { target: noTarget });
  expect(oracle.badge.kindCounts).not.toHaveProperty("~comment");
  takeBack("1");
  takeBack("2");
  report("3", "a");
  expect(oracle.badge.kindCounts).toHaveProperty("~comment", 1);
});

test("who took back what was read is not shown in the place of somebody who leaves", () => {
  const people = ["a", "b", "c", "d", "e", "f"];
  for (const userId of people) like(userId);
  mark(likes, 1, 6);
  unlike("c");
  send({ op: "unread", ...likes, generation: 1 });
  expect(all()).toEqual(["closed 1: a 1, b 2, c 3, d 4, e 5, f 6"]);
  unlike("b");
  expect(all()).toEqual(["closed 1: a 1, d 4, e 5, f 6"]);
  expect(oracle.badge.actorCount).toBe(5);
  for (const userId of ["a", "d", "e", "f"]) unlike(userId);
  expect(all()).toEqual([]);
});

test("a read notification keeps the names it shows, and shows the next ones as of today", () => {
  const people = ["a", "b", "c", "d", "e", "f"];
  for (const userId of people) like(userId);
  mark(likes, 1, 6);
  like("a", { displayName: "Ann" });
  like("c", { displayName: "Cy" });
  send({ op: "block", userId: "b" });
  const names = oracle.notifications[0]?.members.map(({ displayName }) => displayName);
  expect(names).toEqual(["a", "Cy", "d", "e", "f"]);
});

test("a target has at most 32 notifications that take in nobody new", () => {
  like("reader");
  mark(likes, 1, 1);
  for (let i = 0; i < 34; i++) {
    now += 2;
    like(`user-${i}`, { regroupAfterMs: 1 });
  }
  expect(oracle.unread.filter(({ state }) => state === "closed")).toHaveLength(32);
  expect(all().at(-1)).toBe("open 35: user-32 35, user-33 36");
  expect(send({ op: "unread", ...likes, generation: 1 })).toEqual({ refused: "LIMIT_EXCEEDED" });
});
