/** Tests through gRPC what is unseen: the number of unseen lines, and that seen is not read. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** Marks the list as seen, and returns the number of lines that are unseen then. */
async function markSeen({ ownerId, count }: Owner, version: number): Promise<number> {
  const request = { ownerId, version: BigInt(version) };
  const { unreadCount } = await server.notifications.markNotificationsSeen(request);
  expect(unreadCount).toEqual(await count());
  return Number(unreadCount?.unseenNotificationCount);
}

const unseen = async ({ count }: Owner) => Number((await count()).unseenNotificationCount);

/** The lines with a star at the unseen ones: `y* x`. */
async function stars({ list }: Owner): Promise<string> {
  const lines = await list();
  return lines.map(({ target, seen }) => `${target?.title}${seen ? "" : "*"}`).join(" ");
}

describe("MarkNotificationsSeen", () => {
  test("sets the number of unseen lines back, and reads nothing", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A", "B");
    await owner.react("y", "A");
    expect(await unseen(owner)).toBe(2);
    expect(await stars(owner)).toBe("y* x*");
    const unread = await owner.unread();
    expect(await markSeen(owner, 3)).toBe(0);
    expect(await stars(owner)).toBe("y x");
    expect(await owner.unread()).toEqual(unread);
    expect(await owner.badge()).toBe("3 people in 2 at 4");
    expect(await owner.history()).toEqual([]);
  });

  test("leaves what came after the version unseen", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y", "z");
    await owner.react("x", "A");
    await owner.react("y", "A");
    await owner.react("z", "A");
    await owner.react("x", "B");
    expect(await markSeen(owner, 2)).toBe(2);
    expect(await stars(owner)).toBe("x* z* y");
    expect(await markSeen(owner, 3)).toBe(1);
    expect(await stars(owner)).toBe("x* z y");
  });

  test("a line that was seen is unseen as soon as somebody comes in", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A");
    await owner.react("y", "A");
    await markSeen(owner, 2);
    await owner.react("x", "B");
    expect([await unseen(owner), await stars(owner)]).toEqual([1, "x* y"]);
    await owner.react("x", "C");
    expect(await unseen(owner)).toBe(1);
    // When the new people leave, what remains was seen.
    await owner.unreact("x", "B", "C");
    expect([await unseen(owner), await stars(owner)]).toEqual([0, "y x"]);
  });

  test("a line of many goes back to its latest person when all whom it names leave", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A", "B", "C", "D", "E");
    await owner.react("y", "A");
    await markSeen(owner, 6);
    await owner.react("x", "F", "G", "H", "I");
    expect([await unseen(owner), await stars(owner)]).toEqual([1, "x* y"]);
    await owner.unreact("x", "I", "H", "G", "F");
    expect([await unseen(owner), await stars(owner)]).toEqual([0, "y x"]);
    expect((await owner.list())[1]).toMatchObject({ version: 5n, actorCount: 5n, seen: true });
    await owner.unreact("x", "A", "B");
    const line = (await owner.list())[1];
    expect(line?.firstActors.map(({ userId }) => userId)).toEqual(["C", "D"]);
    expect(line?.createTime).toEqual(line?.firstActors[0]?.createTime);
  });
});
