/** Tests the ids of notifications through gRPC: what they name, and which are refused. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOwner } from "../../../support/fixtures/owners.ts";
import { refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const mark = (notificationId: string, ownerId: string) =>
  server.notifications.markNotificationRead({ ownerId, notificationId, version: 1n });
const actors = (notificationId: string, ownerId: string) =>
  server.notifications.listNotificationActors({ ownerId, notificationId });

const encode = (parts: unknown) => Buffer.from(JSON.stringify(parts)).toString("base64url");

describe("an id", () => {
  test("with the longest ids fits into its limit", async () => {
    const ownerId = `"\\`.repeat(32);
    const target = { type: "t".repeat(20), id: ownerId };
    await server.reactions.registerTarget({ targetName: target, ownerId });
    const kind = "k".repeat(20);
    await server.notifications.notify({
      eventId: "e",
      targetName: target,
      kind,
      userId: "u",
      displayName: "U",
    });
    const list = async () =>
      (await server.notifications.listNotifications({ ownerId })).notifications;
    const [unread] = await list();
    expect((await mark(unread?.notificationId ?? "", ownerId)).changed).toBe(true);
    const [read] = await list();
    expect(await actors(read?.notificationId ?? "", ownerId)).toMatchObject({
      actors: [{ userId: "u" }],
    });
  });

  test("works only for its owner's data", async () => {
    const owner = createOwner(server);
    const other = createOwner(server);
    for (const each of [owner, other]) {
      await each.register("x");
      await each.react("x", "A");
    }
    const notificationId = await other.idOf("x");
    const { type, id } = owner.target("x");
    // The id that a caller would make for another owner's notification of the same target.
    const foreign = encode([other.ownerId, "like", type, id, 1]);
    const before = await dump(server);
    const { changed, unreadCount } = await mark(foreign, other.ownerId);
    expect([changed, unreadCount]).toEqual([false, await other.count()]);
    expect(await refusalOf(actors(foreign, other.ownerId))).toMatchObject({
      code: "NotFound",
      reason: "NOTIFICATION_NOT_FOUND",
    });
    for (const theirs of [notificationId, foreign]) {
      const calls = [mark(theirs, owner.ownerId), actors(theirs, owner.ownerId)];
      for (const refusal of await Promise.all(calls.map(refusalOf))) {
        expect(refusal).toMatchObject({
          code: "InvalidArgument",
          reason: "INVALID_REQUEST",
          fields: ["notification_id"],
        });
      }
    }
    expect(await dump(server)).toEqual(before);
    await mark(notificationId, other.ownerId);
    expect(await owner.badge()).toBe("1 people in 1 at 1");
    expect(await other.badge()).toBe("0 people in 0 at 2");
  });
});

describe("a malformed id is refused:", () => {
  const good = ["o", "like", "comment", "x", 5];
  const malformed: [what: string, notificationId: string][] = [
    ["no base64", "%%%"],
    ["no JSON", Buffer.from("o like").toString("base64url")],
    ["no list", encode({ ownerId: "o" })],
    ["null", encode(null)],
    ["too few parts", encode(good.slice(0, 4))],
    ["a part that is no text", encode(["o", "like", 5, "x", 5])],
    ["an empty part", encode(["o", "like", "", "x", 5])],
    ["an empty owner", encode(["", "like", "comment", "x", 5])],
    ["a part with the separator of keys", encode(["o", "like", "comment", "x#y", 5])],
    ["a version that is a text", encode([...good.slice(0, 4), "5"])],
    ["a version with a fraction", encode([...good.slice(0, 4), 1.5])],
    ["a version below 1", encode([...good.slice(0, 4), 0])],
    ["a negative version", encode([...good.slice(0, 4), -1])],
    ["a version beyond every unread count", encode([...good.slice(0, 4), 2 ** 53 - 1])],
    ["two versions", encode([...good, 6])],
    [
      "another form of the same parts",
      Buffer.from('["o", "like","comment","x",5]').toString("base64url"),
    ],
    ["the same with padding", `${encode(good)}=`],
    ["the same with a character that base64 ignores", `${encode(good)}!`],
    ["the name of a resource", "owners/o/notifications/x"],
  ];

  test.each(malformed)("%s", async (_, id) => {
    const before = await dump(server);
    for (const refusal of await Promise.all([mark(id, "o"), actors(id, "o")].map(refusalOf))) {
      expect(refusal).toMatchObject({
        code: "InvalidArgument",
        reason: "INVALID_REQUEST",
        fields: ["notification_id"],
      });
    }
    expect(await dump(server)).toEqual(before);
  });

  test("a good one of the same form is not", async () => {
    expect(await mark(encode(good), "o")).toMatchObject({ changed: false });
  });
});
