/** Tests reactions through gRPC: states, counts and lists. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allResponses } from "../../../support/fixtures/pages.ts";
import { type Name, post, reactionCalls } from "../../../support/fixtures/reaction-calls.ts";
import { refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const { register, react, unreact, summaries } = reactionCalls(() => server);

describe("React and Unreact", () => {
  test("set a state: twice is once", async () => {
    const target = await register();
    const answers = [
      await react(target, "a"),
      await react(target, "a"),
      await react(target, "b"),
      await unreact(target, "a"),
      await unreact(target, "a"),
      await unreact(target, "never"),
      await react(target, "a"),
    ];
    expect(answers.map(({ changed, reactionCount }) => [changed, reactionCount])).toEqual([
      [true, 1n],
      [false, 1n],
      [true, 2n],
      [true, 1n],
      [false, 1n],
      [false, 1n],
      [true, 2n],
    ]);
  });

  test("of one user at the same time are one", async () => {
    const target = await register();
    const answers = await Promise.all([1, 2, 3].map(() => react(target, "a")));
    expect(answers.filter(({ changed }) => changed)).toHaveLength(1);
    expect(answers.map(({ reactionCount }) => reactionCount)).toEqual([1n, 1n, 1n]);
    await Promise.all([1, 2, 3].map(() => unreact(target, "a")));
    expect(await summaries([target])).toEqual(["ACTIVE"]);
  });

  test("of many users at the same time are all counted", async () => {
    const target = await register();
    const userIds = Array.from({ length: 60 }, (_, i) => `u${i}`);
    const answers = await Promise.all(userIds.map((userId) => react(target, userId)));
    const counts = answers.map(({ reactionCount }) => Number(reactionCount));
    expect(counts.sort((a, b) => a - b)).toEqual(userIds.map((_, i) => i + 1));
  });

  test("kinds are independent, and like is the default", async () => {
    const target = await register();
    await react(target, "a", "like");
    expect(await react(target, "a", "")).toMatchObject({ changed: false, reactionCount: 1n });
    expect(await react(target, "a", "wow")).toMatchObject({ changed: true, reactionCount: 1n });
    await react(target, "b", "heart_2");
    expect(await summaries([target], "a")).toEqual(["ACTIVE heart_2:1 like:1* wow:1*"]);
    await unreact(target, "a");
    expect(await summaries([target], "a")).toEqual(["ACTIVE heart_2:1 wow:1*"]);
  });

  test("a repeated reaction takes another name, also where the owner sees it", async () => {
    const target = await register("renamed");
    for (const userId of ["a", "b", "c", "d", "e", "f"]) await react(target, userId);
    const rename = (userId: string, displayName: string) =>
      server.reactions.react({ targetName: target, userId, displayName });
    const shown = async () => {
      const found = await server.notifications.listNotifications({ ownerId: "renamed" });
      const [line] = found.notifications;
      const actors = [...(line?.firstActors ?? []), ...(line?.latestActors ?? [])];
      return [actors.map(({ displayName }) => displayName).join(" "), line?.version];
    };
    const changed = { changed: true, reactionCount: 6n };
    expect(await rename("b", "Bea")).toMatchObject(changed);
    expect(await rename("e", "Eve")).toMatchObject(changed);
    expect(await rename("c", "Cy")).toMatchObject(changed);
    expect(await rename("e", "Eve")).toMatchObject({ changed: false, reactionCount: 6n });
    expect(await shown()).toEqual(["A Bea F Eve D", 6n]);
    const { reactions } = await server.reactions.listTargetReactions({ targetName: target });
    const names = reactions.map(({ displayName }) => displayName);
    expect(names).toEqual(["F", "Eve", "D", "Cy", "Bea", "A"]);
    const { unreadCount } = await server.notifications.getUnreadCount({ ownerId: "renamed" });
    expect(unreadCount).toMatchObject({ actorCount: 6n, notificationCount: 1n, version: 9n });
    // A name that is cut to the same 96 bytes is the same.
    await rename("a", "x".repeat(96));
    expect(await rename("a", "x".repeat(97))).toMatchObject({ changed: false });
  });
});

describe("BatchGetReactionSummaries", () => {
  test("lists many targets in the order of the request", async () => {
    const names = Array.from({ length: 97 }, (_, i) => post(`many${i}`));
    await Promise.all(
      names.map((target) =>
        server.reactions.registerTarget({ targetName: target, ownerId: "many" }),
      ),
    );
    const first = names[0] as Name;
    await react(first, "a");
    await react(first, "b", "wow");
    await react(names[96] as Name, "b");
    const deleted = await register();
    await react(deleted, "a");
    await server.reactions.deleteTarget({ targetName: deleted });
    const request = [...names, deleted, post("unknown"), first];
    const expected = [
      "ACTIVE like:1* wow:1",
      ...names.slice(1, -1).map(() => "ACTIVE"),
      "ACTIVE like:1",
      "DELETED",
      "UNKNOWN",
      "ACTIVE like:1* wow:1",
    ];
    expect(await summaries(request, "a")).toEqual(expected);
    expect(await summaries(request)).toEqual(expected.map((each) => each.replaceAll("*", "")));
  });
});

describe("ListTargetReactions", () => {
  const userIds = ["a", "b", "c", "d", "e", "f", "g"];
  let target: Name;
  beforeAll(async () => {
    target = await register();
    for (const userId of userIds) await react(target, userId);
    await react(target, "other", "wow");
  });

  async function listed(pageSize: number): Promise<string[]> {
    const pages = await allResponses((pageToken) =>
      server.reactions.listTargetReactions({ targetName: target, pageSize, pageToken }),
    );
    for (const page of pages) expect(page.reactions.length).toBeLessThanOrEqual(pageSize);
    const records = pages.flatMap(({ reactions }) => reactions);
    for (const { userId, displayName, kind, targetName: to, createTime } of records) {
      expect([displayName, kind, to?.id]).toEqual([userId.toUpperCase(), "like", target.id]);
      expect(createTime?.seconds).toBeGreaterThan(0n);
    }
    return records.map(({ userId }) => userId);
  }

  test.each([1, 3, 7, 200])("newest first, in pages of %i", async (pageSize) => {
    expect(await listed(pageSize)).toEqual(userIds.toReversed());
  });

  test("a repeated unread reaction is in its place, an unreacted one is not listed", async () => {
    await unreact(target, "a");
    expect(await listed(2)).toEqual(["g", "f", "e", "d", "c", "b"]);
    await react(target, "a");
    expect(await listed(2)).toEqual(["g", "f", "e", "d", "c", "b", "a"]);
  });

  test("a token is valid only for its list", async () => {
    const { reactions, notifications } = server;
    const list = { targetName: target, pageSize: 2 };
    const { nextPageToken: pageToken } = await reactions.listTargetReactions(list);
    expect(pageToken).not.toBe("");
    const other = await register();
    const { notifications: lines } = await notifications.listNotifications({ ownerId: "owner" });
    const notificationId = lines[0]?.notificationId ?? "";
    const calls = [
      reactions.listTargetReactions({ ...list, kind: "wow", pageToken }),
      reactions.listTargetReactions({ ...list, kind: "like", pageToken }),
      reactions.listTargetReactions({ ...list, targetName: other, pageToken }),
      reactions.listTargetReactions({ ...list, pageToken: `${pageToken}AAAA` }),
      reactions.listTargetReactions({ ...list, pageToken: pageToken.slice(0, -4) }),
      reactions.listUserReactions({ userId: "a", pageToken }),
      notifications.listNotifications({ ownerId: "owner", state: 1, pageToken }),
      notifications.listNotificationActors({ ownerId: "owner", notificationId, pageToken }),
    ];
    for (const refusal of await Promise.all(calls.map(refusalOf))) {
      expect(refusal).toMatchObject({
        reason: "INVALID_REQUEST",
        fields: ["page_token"],
      });
    }
  });
});

describe("ListUserReactions", () => {
  test("newest first, in pages", async () => {
    const names: Name[] = [];
    for (let i = 0; i < 5; i++) {
      const target = await register(`owner${i}`);
      names.unshift(target);
      await react(target, "reader");
      // The list is in the order of their times, which are whole milliseconds.
      await sleep(2);
    }
    await react(names[2] as Name, "somebody");
    const listed = async () => {
      const pages = await allResponses((pageToken) =>
        server.reactions.listUserReactions({ userId: "reader", pageSize: 2, pageToken }),
      );
      const records = pages.flatMap(({ reactions }) => reactions);
      for (const { userId, displayName, kind } of records) {
        expect([userId, displayName, kind]).toEqual(["reader", "READER", "like"]);
      }
      return records.map(({ targetName: target }) => target?.id ?? "");
    };
    const expected = names.map(({ id }) => id);
    await expect.poll(listed).toEqual(expected);
    await unreact(names[1] as Name, "reader");
    await expect.poll(listed).toEqual(expected.toSpliced(1, 1));
  });

  test("without those to deleted targets, and of the kinds requested", async () => {
    const names: Name[] = [];
    for (let i = 0; i < 3; i++) names.push(await register());
    for (const target of names) for (const kind of ["like", "wow"]) await react(target, "x", kind);
    const listed = async (kinds: string[], pageSize = 50) => {
      const pages = await allResponses((pageToken) =>
        server.reactions.listUserReactions({ userId: "x", kinds, pageSize, pageToken }),
      );
      return pages.map(({ reactions }) =>
        reactions.map(({ targetName: target, kind }) => `${target?.id} ${kind}`).sort(),
      );
    };
    await expect.poll(() => listed([])).toMatchObject([{ length: 6 }]);
    // The purge of a deleted target is a workflow, which does not run here.
    await server.reactions.deleteTarget({ targetName: names[1] as Name });
    const [first, last] = [names[0] as Name, names[2] as Name];
    const [likes, wows] = ["like", "wow"].map((kind) => [
      `${first.id} ${kind}`,
      `${last.id} ${kind}`,
    ]);
    expect(await listed(["wow"])).toEqual([wows]);
    expect(await listed(["wow", "like"])).toEqual([[...(likes ?? []), ...(wows ?? [])].sort()]);
    expect(await listed(["sad"])).toEqual([[]]);
    // Three reactions are left out between the two of the first page.
    expect((await listed(["like"], 2))[0]).toEqual(likes);
    const page = await server.reactions.listUserReactions({ userId: "x", pageSize: 2 });
    const other = { userId: "x", kinds: ["wow"], pageSize: 2, pageToken: page.nextPageToken };
    expect(await refusalOf(server.reactions.listUserReactions(other))).toMatchObject({
      fields: ["page_token"],
    });
  });
});
