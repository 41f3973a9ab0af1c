/** Tests through gRPC what an owner mutes: targets, people, kinds and everything. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PreferencesSchema } from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { inBatches } from "../../../../src/platform/ports/pages.ts";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { allResponses } from "../../../support/fixtures/pages.ts";
import { reasonOf, refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

describe("SetTargetMuted", () => {
  test("is allowed only to the owner, and only for an active target", async () => {
    const owner = createOwner(server);
    await owner.register("x", "dead");
    await server.reactions.deleteTarget({ targetName: owner.target("dead") });
    const before = await dump(server);
    const muted = { targetName: owner.target("x"), muted: true };
    const byAnother = server.notifications.setTargetMuted({ ...muted, ownerId: "somebody" });
    expect(await refusalOf(byAnother)).toMatchObject({
      code: "NotFound",
      reason: "TARGET_NOT_FOUND",
    });
    expect(await reasonOf(owner.mute("unknown", true))).toBe("TARGET_NOT_FOUND");
    expect(await reasonOf(owner.mute("dead", true))).toBe("TARGET_DELETED");
    expect(await dump(server)).toEqual(before);
  });
});

describe("SetPersonMuted", () => {
  test("ends with a further call; what was muted in between makes no line", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.mutePerson("A", true);
    await owner.react("x", "A");
    expect((await owner.mutePerson("A", false)).changed).toBe(true);
    expect((await owner.mutePerson("A", false)).changed).toBe(false);
    expect(await owner.unread()).toEqual([]);
    await owner.react("y", "A");
    expect(await owner.unread()).toEqual(["y: A ... A (1 at 2)"]);
    // Taking the muted reaction back leaves the line of the other target as it is.
    await owner.unreact("x", "A");
    expect(await owner.badge()).toBe("1 people in 1 at 3");
    expect(await owner.counts("x")).toEqual({});
  });

  test("mutes people, and lists them in pages", async () => {
    const owner = createOwner(server);
    const { ownerId } = owner;
    const userIds = Array.from({ length: 100 }, (_, i) => `p${String(i).padStart(3, "0")}`);
    const changes = await Promise.all(userIds.map((userId) => owner.mutePerson(userId, true)));
    expect(changes.every(({ changed }) => changed)).toBe(true);
    expect((await owner.mutePerson("p007", true)).changed).toBe(false);
    const listed = async (pageSize: number) => {
      const pages = await allResponses((pageToken) =>
        server.notifications.listMutedPeople({ ownerId, pageSize, pageToken }),
      );
      for (const page of pages) expect(page.userIds.length).toBeLessThanOrEqual(pageSize);
      return pages.flatMap((page) => page.userIds);
    };
    for (const pageSize of [7, 100, 200]) expect(await listed(pageSize)).toEqual(userIds);
    expect((await server.notifications.listMutedPeople({ ownerId })).userIds).toHaveLength(50);
    await owner.mutePerson("p007", false);
    await owner.mutePerson("one-more", true);
    expect(await listed(30)).toEqual(["one-more", ...userIds.toSpliced(7, 1)]);
    // All of them are muted, and nobody else is.
    await owner.register("x");
    // A few at a time, so that no call waits for many transactions of a busy store.
    for (const some of inBatches([...userIds, "one-more", "else"], 26)) {
      await Promise.all(some.map((userId) => owner.react("x", userId)));
    }
    expect(await owner.actors(await owner.idOf("x"))).toEqual(
      expect.toSatisfy((found: string[]) => found.sort().join() === "else,p007"),
    );
    expect(await owner.counts("x")).toEqual({ like: 102 });
  });

  test("a token is valid only for its list", async () => {
    const owner = createOwner(server);
    for (const userId of ["A", "B"]) await owner.mutePerson(userId, true);
    const { notifications } = server;
    const list = { ownerId: owner.ownerId, pageSize: 1 };
    const { nextPageToken: pageToken } = await notifications.listMutedPeople(list);
    expect(pageToken).not.toBe("");
    const calls = [
      notifications.listMutedPeople({ ...list, ownerId: "other", pageToken }),
      notifications.listNotifications({ ...list, pageToken }),
    ];
    for (const refusal of await Promise.all(calls.map(refusalOf))) {
      expect(refusal).toMatchObject({ reason: "INVALID_REQUEST", fields: ["page_token"] });
    }
  });
});

describe("UpdatePreferences", () => {
  const preferences = async ({ ownerId }: Owner) =>
    (await server.notifications.getPreferences({ ownerId })).preferences;

  const replace = async (owner: Owner, changes: MessageInitShape<typeof PreferencesSchema>) => {
    const etag = (await preferences(owner))?.etag ?? "";
    return server.notifications.updatePreferences({
      preferences: { ...changes, ownerId: owner.ownerId, etag },
      updateMask: { paths: ["*"] },
    });
  };

  const update = (owner: Owner, allMuted: boolean, ...mutedKinds: string[]) =>
    replace(owner, { allMuted, mutedKinds });

  const react = ({ target }: Owner, id: string, userId: string, kind: string) =>
    server.reactions.react({ targetName: target(id), userId, displayName: userId, kind });

  test("replaces all preferences by *; an owner without any mutes nothing", async () => {
    const owner = createOwner(server);
    expect(await preferences(owner)).toMatchObject({ allMuted: false, mutedKinds: [] });
    const answer = await update(owner, false, "wow", "comment");
    expect(answer.preferences).toMatchObject({ allMuted: false, mutedKinds: ["comment", "wow"] });
    expect(await preferences(owner)).toEqual(answer.preferences);
    await update(owner, true);
    expect(await preferences(owner)).toMatchObject({ allMuted: true, mutedKinds: [] });
    await owner.register("x");
    await owner.react("x", "A");
    expect(await preferences(owner)).toMatchObject({ allMuted: true, mutedKinds: [] });
  });

  test("mutes kinds, of reactions and of events, and leaves what is unread", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await react(owner, "x", "A", "wow");
    const kinds = { mutedKinds: ["wow"], mutedEventKinds: ["wow", "comment"] };
    await replace(owner, kinds);
    expect(await preferences(owner)).toMatchObject({
      ...kinds,
      mutedEventKinds: ["comment", "wow"],
    });
    expect(await owner.unread()).toEqual(["x wow: A ... A (1 at 1)"]);
    await react(owner, "x", "B", "wow");
    expect((await owner.notify("x", "e1", "B", "comment")).notified).toBe(false);
    expect((await owner.notify("x", "e2", "B", "wow")).notified).toBe(false);
    await owner.react("x", "B");
    expect(await owner.unread()).toEqual(["x: B ... B (1 at 5)", "x wow: A ... A (1 at 1)"]);
    expect(await owner.counts("x")).toEqual({ like: 1, wow: 2 });
    await update(owner, false);
    await react(owner, "x", "C", "wow");
    expect((await owner.unread())[0]).toBe("x wow: A C ... C A (2 at 6)");
  });
});
