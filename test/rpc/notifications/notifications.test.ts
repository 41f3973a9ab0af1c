/** Tests notifications through gRPC: groups, texts, mark-read, history, mutes and counts. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { markNotificationRead } from "../../../src/app/notifications/commands.ts";
import {
  purgeHistory,
  purgeReactions,
  purgeUnread,
} from "../../../src/app/reactions/purge-target.ts";
import type { Notification } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import * as service from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { allResponses } from "../../support/fixtures/pages.ts";
import { reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

const State = service.ListNotificationsRequest_State;
type State = service.ListNotificationsRequest_State;

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

type Name = { readonly type: string; readonly id: string };

let owners = 0;

/** Creates an owner with short calls of the RPCs about the owner's targets. */
function createOwner() {
  const ownerId = `owner${++owners}`;
  const { reactions, notifications } = server;
  const name = (id: string): Name => ({ type: "comment", id: `${ownerId}-${id}` });
  return {
    ownerId,
    name,
    async register(...ids: string[]): Promise<void> {
      for (const id of ids) {
        await reactions.registerTarget({ target: name(id), ownerId, title: `Comment ${id}` });
      }
    },
    async react(id: string, ...userIds: string[]): Promise<void> {
      for (const userId of userIds) {
        await reactions.react({ target: name(id), userId, actorName: userId });
      }
    },
    async unreact(id: string, ...userIds: string[]): Promise<void> {
      for (const userId of userIds) await reactions.unreact({ target: name(id), userId });
    },
    async read(id: string, version: number) {
      const request = { ownerId, target: name(id), version: BigInt(version) };
      const answer = await notifications.markNotificationRead(request);
      expect(answer.unreadCount).toEqual((await count()).unreadCount);
      return answer.changed;
    },
    readAll: (version: number) =>
      notifications.markAllNotificationsRead({ ownerId, version: BigInt(version) }),
    /** `2 people in 1 at 3` */
    async count(): Promise<string> {
      const { unreadCount } = await count();
      const { peopleCount, groupCount, version } = unreadCount as NonNullable<typeof unreadCount>;
      return `${peopleCount} people in ${groupCount} at ${version}`;
    },
    unread: () => listed(State.UNREAD),
    history: () => listed(State.READ),
    notifications: (state: State) => pagesOf(ownerId, state),
    mute: (id: string, muted: boolean) =>
      notifications.setTargetMuted({ ownerId, target: name(id), muted }),
    async actors(id: string, from: number, to: number, pageSize = 50): Promise<string[]> {
      const range = { firstVersion: BigInt(from), version: BigInt(to) };
      const request = { ownerId, target: name(id), ...range, pageSize };
      const pages = await allResponses((pageToken) =>
        notifications.listNotificationActors({ ...request, pageToken }),
      );
      return pages.flatMap((page) => page.actors.map(({ userId }) => userId));
    },
  };

  function count() {
    return notifications.getUnreadCount({ ownerId });
  }

  async function listed(state: State): Promise<string[]> {
    return (await pagesOf(ownerId, state)).map(lineOf);
  }
}

async function pagesOf(ownerId: string, state: State, pageSize = 2): Promise<Notification[]> {
  const pages = await allResponses((pageToken) =>
    server.notifications.listNotifications({ ownerId, state, pageSize, pageToken }),
  );
  for (const page of pages) expect(page.notifications.length).toBeLessThanOrEqual(pageSize);
  return pages.flatMap((page) => page.notifications);
}

/** A notification in one line: `Comment x: A and 2 others (3; A B ... C B A; 1-3)`. */
function lineOf({ target, text, ...group }: Notification): string {
  const { names = [], otherCount = 0n } = text ?? {};
  const actors = otherCount > 0n ? `${names[0]} and ${otherCount} others` : names.join(" and ");
  const first = group.firstActors.map(({ userId }) => userId).join(" ");
  const latest = group.latestActors.map(({ userId }) => userId).join(" ");
  const range = `${group.firstVersion}-${group.version}`;
  return `${target?.title}: ${actors} (${group.peopleCount}; ${first} ... ${latest}; ${range})`;
}

const ms = (time: Timestamp | undefined): number => (time ? timestampMs(time) : Number.NaN);

describe("one group", () => {
  test("shows one name, then two, then one and the number of others", async () => {
    const owner = createOwner();
    await owner.register("x");
    expect(await owner.count()).toBe("0 people in 0 at 0");
    expect(await owner.unread()).toEqual([]);
    await owner.react("x", "A");
    expect(await owner.unread()).toEqual(["Comment x: A (1; A ... A; 1-1)"]);
    await owner.react("x", "B");
    expect(await owner.unread()).toEqual(["Comment x: A and B (2; A B ... B A; 1-2)"]);
    await owner.react("x", "C");
    expect(await owner.unread()).toEqual(["Comment x: A and 2 others (3; A B ... C B A; 1-3)"]);
    await owner.react("x", "D", "E", "F");
    expect(await owner.unread()).toEqual(["Comment x: A and 5 others (6; A B ... F E D; 1-6)"]);
    expect(await owner.count()).toBe("6 people in 1 at 6");
    expect(await owner.history()).toEqual([]);
  });

  test("refills the names of users who leave", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A", "B", "C", "D", "E", "F", "G");
    await owner.unreact("x", "A");
    expect(await owner.unread()).toEqual(["Comment x: B and 5 others (6; B C ... G F E; 1-7)"]);
    await owner.unreact("x", "G", "F");
    expect(await owner.unread()).toEqual(["Comment x: B and 3 others (4; B C ... E D C; 1-7)"]);
    await owner.unreact("x", "C", "B", "D");
    expect(await owner.unread()).toEqual(["Comment x: E (1; E ... E; 1-7)"]);
    expect(await owner.count()).toBe("1 people in 1 at 13");
    await owner.unreact("x", "E");
    expect(await owner.unread()).toEqual([]);
    expect(await owner.count()).toBe("0 people in 0 at 14");
  });

  test("counts a user once: react, unreact, react", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A", "B", "B");
    await owner.unreact("x", "A");
    await owner.react("x", "A", "A");
    expect(await owner.unread()).toEqual(["Comment x: B and A (2; B A ... A B; 1-4)"]);
    expect(await owner.count()).toBe("2 people in 1 at 4");
  });

  test("counts a user once, also after a mark-read in between", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A", "B");
    expect(await owner.read("x", 2)).toBe(true);
    await owner.unreact("x", "A");
    expect(await owner.count()).toBe("0 people in 0 at 4");
    await owner.react("x", "A");
    expect(await owner.unread()).toEqual(["Comment x: A (1; A ... A; 5-5)"]);
    expect(await owner.history()).toEqual(["Comment x: A and B (2; A B ... B A; 1-2)"]);
    expect(await owner.count()).toBe("1 people in 1 at 5");
    const { reactions } = await server.reactions.listReactors({ target: owner.name("x") });
    expect(reactions.map(({ userId }) => userId)).toEqual(["A", "B"]);
  });
});

describe("the unread count", () => {
  test("is the sum of the people of each group, and the number of groups", async () => {
    const owner = createOwner();
    await owner.register("x", "y", "z");
    for (const id of ["x", "y", "z"]) await owner.react(id, "A", "B", "C", "D", "E");
    expect(await owner.count()).toBe("15 people in 3 at 15");
    await server.reactions.react({
      target: owner.name("x"),
      userId: "A",
      actorName: "A",
      kind: "wow",
    });
    expect(await owner.count()).toBe("16 people in 4 at 16");
    const titles = (await owner.notifications(State.UNREAD)).map(
      ({ target, kind }) => `${target?.title} ${kind}`,
    );
    expect(titles).toEqual(["Comment x wow", "Comment z like", "Comment y like", "Comment x like"]);
  });

  test("leaves out the owner's own reactions, which count", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", owner.ownerId, "A");
    expect(await owner.unread()).toEqual(["Comment x: A (1; A ... A; 2-2)"]);
    expect(await owner.count()).toBe("1 people in 1 at 2");
    const { summaries } = await server.reactions.batchGetReactionSummaries({
      targets: [owner.name("x")],
      viewerId: owner.ownerId,
    });
    expect(summaries[0]?.counts).toMatchObject([{ reactionCount: 2n, viewerReacted: true }]);
    await owner.unreact("x", owner.ownerId);
    expect(await owner.count()).toBe("1 people in 1 at 3");
  });
});

describe("MarkNotificationRead", () => {
  test("at the version of the group reads all of it", async () => {
    const owner = createOwner();
    await owner.register("x", "y");
    await owner.react("x", "A", "B", "C");
    await owner.react("y", "A");
    expect(await owner.read("x", 3)).toBe(true);
    expect(await owner.unread()).toEqual(["Comment y: A (1; A ... A; 4-4)"]);
    expect(await owner.history()).toEqual(["Comment x: A and 2 others (3; A B ... C B A; 1-3)"]);
    expect(await owner.count()).toBe("1 people in 1 at 5");
    expect(await owner.read("x", 3)).toBe(false);
    expect(await owner.count()).toBe("1 people in 1 at 5");
  });

  test("at an older version splits it: later actors stay unread", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A", "B", "C", "D", "E", "F", "G", "H");
    expect(await owner.read("x", 6)).toBe(true);
    expect(await owner.unread()).toEqual(["Comment x: G and H (2; G H ... H G; 7-8)"]);
    expect(await owner.history()).toEqual(["Comment x: A and 5 others (6; A B ... F E D; 1-6)"]);
    expect(await owner.count()).toBe("2 people in 1 at 9");
    await owner.react("x", "I");
    expect(await owner.unread()).toEqual(["Comment x: G and 2 others (3; G H ... I H G; 7-10)"]);
    expect(await owner.read("x", 6)).toBe(false);
    expect(await owner.read("x", 10)).toBe(true);
    expect(await owner.history()).toEqual([
      "Comment x: G and 2 others (3; G H ... I H G; 7-10)",
      "Comment x: A and 5 others (6; A B ... F E D; 1-6)",
    ]);
    expect(await owner.count()).toBe("0 people in 0 at 11");
  });

  test("splits between two users who have changed places", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A", "B", "C");
    await owner.unreact("x", "A");
    await owner.react("x", "A");
    expect(await owner.read("x", 3)).toBe(true);
    expect(await owner.unread()).toEqual(["Comment x: A (1; A ... A; 4-5)"]);
    expect(await owner.history()).toEqual(["Comment x: B and C (2; B C ... C B; 1-3)"]);
  });

  test("changes nothing when no unread actor was seen", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A");
    await owner.unreact("x", "A");
    await owner.react("x", "B");
    const before = await dump(server);
    expect(await owner.read("x", 2)).toBe(false);
    expect(await owner.read("unknown", 3)).toBe(false);
    expect(await dump(server)).toEqual(before);
  });

  test("at a later version than the inbox's is refused", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A");
    const before = await dump(server);
    const future = { ownerId: owner.ownerId, version: 2n };
    const calls = [
      server.notifications.markNotificationRead({ ...future, target: owner.name("x") }),
      server.notifications.markAllNotificationsRead(future),
      server.notifications.markAllNotificationsRead({ ownerId: "nobody", version: 1n }),
    ];
    for (const refusal of await Promise.all(calls.map(refusalOf))) {
      expect(refusal).toMatchObject({
        code: "InvalidArgument",
        reason: "INVALID_REQUEST",
        fields: ["version"],
      });
    }
    expect(await dump(server)).toEqual(before);
  });

  test("of another owner's target changes nothing", async () => {
    const owner = createOwner();
    const other = createOwner();
    await owner.register("x");
    await owner.react("x", "A");
    await other.register("y");
    await other.react("y", "A");
    const stolen = { ownerId: other.ownerId, target: owner.name("x"), version: 1n };
    expect((await server.notifications.markNotificationRead(stolen)).changed).toBe(false);
    expect(await owner.count()).toBe("1 people in 1 at 1");
  });
});

describe("MarkAllNotificationsRead", () => {
  test("reads every group up to the version", async () => {
    const owner = createOwner();
    await owner.register("w", "x", "y", "z");
    await owner.react("x", "A", "B");
    await owner.react("y", "A");
    await owner.react("x", "C");
    await owner.react("z", "A");
    await owner.react("y", "B");
    const { markedCount, unreadCount } = await owner.readAll(4);
    expect(markedCount).toBe(2n);
    expect(unreadCount).toMatchObject({ peopleCount: 2n, groupCount: 2n });
    expect((await owner.unread()).map((line) => line.split(" (")[0])).toEqual([
      "Comment y: B",
      "Comment z: A",
    ]);
    expect((await owner.history()).map((line) => line.split(" (")[0])).toEqual([
      "Comment x: A and 2 others",
      "Comment y: A",
    ]);
    const version = Number(unreadCount?.version);
    expect((await owner.readAll(4)).markedCount).toBe(0n);
    expect((await owner.readAll(version)).markedCount).toBe(2n);
    expect(await owner.unread()).toEqual([]);
    expect(await owner.count()).toMatch(/^0 people in 0 at /);
  });

  test("reads more groups than one transaction can write", async () => {
    const owner = createOwner();
    const ids = Array.from({ length: 130 }, (_, i) => `t${i}`);
    // A few at a time, so that no call waits for many transactions of a busy store.
    for (let i = 0; i < ids.length; i += 26) {
      const some = ids.slice(i, i + 26);
      await Promise.all(some.map((id) => owner.register(id)));
      await Promise.all(some.map((id) => owner.react(id, "A")));
    }
    expect(await owner.count()).toBe("130 people in 130 at 130");
    expect((await owner.readAll(130)).markedCount).toBe(130n);
    expect(await owner.count()).toMatch(/^0 people in 0 at /);
    expect(await pagesOf(owner.ownerId, State.UNREAD, 100)).toEqual([]);
    expect(await pagesOf(owner.ownerId, State.READ, 100)).toHaveLength(130);
  });
});

describe("history", () => {
  const day = 86_400_000;

  test("is kept for 90 days after the mark-read", async () => {
    const owner = createOwner();
    await owner.register("x", "y");
    await owner.react("x", "A", "B");
    await owner.react("y", "A");
    const [unread] = await owner.notifications(State.UNREAD);
    expect([unread?.readTime, unread?.expireTime]).toEqual([undefined, undefined]);
    const before = Date.now();
    await owner.readAll(3);
    const found = await owner.notifications(State.READ);
    expect(found.map(lineOf)).toEqual([
      "Comment y: A (1; A ... A; 3-3)",
      "Comment x: A and B (2; A B ... B A; 1-2)",
    ]);
    for (const { readTime, expireTime, createTime, updateTime } of found) {
      expect(ms(expireTime) - ms(readTime)).toBe(90 * day);
      expect(ms(readTime)).toBeGreaterThanOrEqual(before);
      expect(ms(updateTime)).toBeLessThanOrEqual(ms(readTime));
      expect(ms(createTime)).toBeLessThanOrEqual(ms(updateTime));
    }
  });

  test("is kept for as long as MEGURI_HISTORY_DAYS says", async () => {
    const { tablePrefix } = server.config;
    const env = { MEGURI_HISTORY_DAYS: "7" };
    const other = await startServer({ testClock: false, tablePrefix, env });
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A");
    await other.notifications.markAllNotificationsRead({ ownerId: owner.ownerId, version: 1n });
    await other.stop();
    const [read] = await owner.notifications(State.READ);
    expect(ms(read?.expireTime) - ms(read?.readTime)).toBe(7 * day);
  });

  test("is no longer listed when it has expired, even if it is still stored", async () => {
    const owner = createOwner();
    await owner.register("x", "y");
    await owner.react("x", "A");
    await owner.react("y", "A");
    const target = owner.name("x");
    await markNotificationRead(
      { ...server.deps, historyMs: 1 },
      { ownerId: owner.ownerId, target, kind: "like", version: 1 },
    );
    await owner.read("y", 2);
    await expect
      .poll(owner.history, { timeout: 30_000 })
      .toEqual(["Comment y: A (1; A ... A; 2-2)"]);
    expect((await dump(server)).filter((item) => item.includes(target.id))).not.toEqual([]);
    await owner.react("x", "B");
    expect(await owner.unread()).toEqual(["Comment x: B (1; B ... B; 5-5)"]);
  });
});

describe("SetTargetMuted", () => {
  test("hides nothing that is unread, and stops new notifications", async () => {
    const owner = createOwner();
    await owner.register("x", "y");
    await owner.react("x", "A");
    expect((await owner.mute("x", true)).target).toMatchObject({
      name: owner.name("x"),
      muted: true,
    });
    expect(await owner.count()).toBe("1 people in 1 at 1");
    await owner.react("x", "B");
    await owner.react("y", "B");
    expect(await owner.count()).toBe("2 people in 2 at 3");
    expect(await owner.actors("x", 1, 9)).toEqual(["A"]);
    expect((await owner.mute("x", true)).target?.muted).toBe(true);
    expect((await owner.mute("x", false)).target?.muted).toBe(false);
    await owner.react("x", "C");
    await owner.unreact("x", "B");
    expect((await owner.unread())[0]).toBe("Comment x: A and C (2; A C ... C A; 1-4)");
    expect(await owner.count()).toBe("3 people in 2 at 5");
    const { summaries } = await server.reactions.batchGetReactionSummaries({
      targets: [owner.name("x")],
    });
    expect(summaries[0]?.counts).toMatchObject([{ reactionCount: 2n }]);
  });

  test("is allowed only to the owner, and only for an active target", async () => {
    const owner = createOwner();
    await owner.register("x", "dead");
    await server.reactions.deleteTarget({ target: owner.name("dead") });
    const before = await dump(server);
    const { notifications } = server;
    const muted = { target: owner.name("x"), muted: true };
    const others = notifications.setTargetMuted({ ...muted, ownerId: "somebody" });
    expect(await refusalOf(others)).toMatchObject({ code: "NotFound", reason: "TARGET_NOT_FOUND" });
    expect(await reasonOf(owner.mute("unknown", true))).toBe("TARGET_NOT_FOUND");
    expect(await reasonOf(owner.mute("dead", true))).toBe("TARGET_DELETED");
    expect(await dump(server)).toEqual(before);
  });
});

describe("ListNotificationActors", () => {
  test("lists all actors who still react, of the unread group and of history", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A", "B", "C", "D", "E", "F", "G", "H");
    await owner.unreact("x", "C");
    await owner.read("x", 6);
    const [unread] = await owner.notifications(State.UNREAD);
    const [read] = await owner.notifications(State.READ);
    const range = (group: Notification | undefined) =>
      [Number(group?.firstVersion), Number(group?.version)] as const;
    for (const pageSize of [1, 2, 200]) {
      expect(await owner.actors("x", ...range(unread), pageSize)).toEqual(["H", "G"]);
      expect(await owner.actors("x", ...range(read), pageSize)).toEqual(["F", "E", "D", "B", "A"]);
    }
    await owner.unreact("x", "E");
    expect(await owner.actors("x", ...range(read))).toEqual(["F", "D", "B", "A"]);
    expect(await owner.actors("x", 5, 4)).toEqual([]);
    const { actors } = await server.notifications.listNotificationActors({
      ownerId: owner.ownerId,
      target: owner.name("x"),
      firstVersion: 1n,
      version: 1n,
    });
    expect(actors).toMatchObject([{ userId: "A", actorName: "A" }]);
    expect(ms(actors[0]?.createTime)).toBeGreaterThan(0);
  });

  test("is for the owner alone", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A");
    const request = { target: owner.name("x"), firstVersion: 1n, version: 1n };
    const { notifications } = server;
    const others = notifications.listNotificationActors({ ...request, ownerId: "somebody" });
    expect(await reasonOf(others)).toBe("TARGET_NOT_FOUND");
    expect(await reasonOf(owner.actors("unknown", 1, 1))).toBe("TARGET_NOT_FOUND");
  });
});

describe("ListNotifications", () => {
  test("lists the latest group first, in pages of any size", async () => {
    const owner = createOwner();
    await owner.register("w", "x", "y", "z");
    for (const id of ["w", "x", "y", "z"]) await owner.react(id, "A");
    await owner.react("x", "B");
    for (const pageSize of [1, 2, 3, 100]) {
      const found = await pagesOf(owner.ownerId, State.UNREAD, pageSize);
      const titles = found.map(({ target }) => target?.title?.at(-1));
      expect(titles.join("")).toBe("xzyw");
    }
  });

  test("shows a target as it is now", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A");
    await server.reactions.registerTarget({
      target: owner.name("x"),
      ownerId: owner.ownerId,
      title: "New",
      link: "/new",
    });
    await owner.mute("x", true);
    expect(await owner.notifications(State.UNREAD)).toMatchObject([
      { target: { title: "New", link: "/new", muted: true }, kind: "like" },
    ]);
  });

  test("a token is valid only for its list", async () => {
    const owner = createOwner();
    await owner.register("x", "y");
    await owner.react("x", "A", "B", "C");
    await owner.react("y", "A");
    const { notifications } = server;
    const { ownerId } = owner;
    const list = { ownerId, state: State.UNREAD, pageSize: 1 };
    const { nextPageToken: pageToken } = await notifications.listNotifications(list);
    expect(pageToken).not.toBe("");
    const people = { ownerId, target: owner.name("x"), firstVersion: 1n, version: 3n };
    const actors = await notifications.listNotificationActors({ ...people, pageSize: 1 });
    expect(actors.nextPageToken).not.toBe("");
    const calls = [
      notifications.listNotifications({ ...list, state: State.READ, pageToken }),
      notifications.listNotifications({ ...list, ownerId: "other", pageToken }),
      notifications.listNotifications({ ...list, pageToken: actors.nextPageToken }),
      notifications.listNotificationActors({ ...people, pageToken }),
      notifications.listNotificationActors({
        ...people,
        version: 2n,
        pageToken: actors.nextPageToken,
      }),
    ];
    for (const refusal of await Promise.all(calls.map(refusalOf))) {
      expect(refusal).toMatchObject({
        reason: "INVALID_REQUEST",
        fields: ["page_token"],
      });
    }
  });
});

describe("a purge of a target", () => {
  test("of a deleted target removes its reactions, unread groups and history", async () => {
    const owner = createOwner();
    await owner.register("x", "y");
    await owner.react("x", "A", "B");
    await owner.read("x", 1);
    await owner.react("y", "A");
    const target = owner.name("x");
    await server.reactions.deleteTarget({ target });
    // Until the workflow has purged them, unread groups stay and show the target as deleted.
    expect(await owner.notifications(State.UNREAD)).toMatchObject([
      { target: { name: owner.name("y"), deleted: false } },
      { target: { name: target, deleted: true } },
    ]);
    const { deps } = server;
    expect(await purgeUnread(deps, target)).toEqual(["like"]);
    expect(await purgeUnread(deps, target)).toEqual(["like"]);
    expect(await owner.count()).toBe("1 people in 1 at 5");
    expect(await purgeReactions(deps, target, "like")).toBe(false);
    expect(await purgeHistory(deps, owner.ownerId, target, undefined)).toBeUndefined();
    expect(await owner.unread()).toEqual(["Comment y: A (1; A ... A; 4-4)"]);
    expect(await owner.history()).toEqual([]);
    const left = (await dump(server)).filter((item) => item.includes(target.id));
    expect(left).toHaveLength(1);
    expect(left[0]).toContain(`T#comment#${target.id}`);
  });

  test("of an active target changes nothing", async () => {
    const owner = createOwner();
    await owner.register("x");
    await owner.react("x", "A");
    const before = await dump(server);
    expect(await purgeUnread(server.deps, owner.name("x"))).toEqual([]);
    expect(await dump(server)).toEqual(before);
  });
});
