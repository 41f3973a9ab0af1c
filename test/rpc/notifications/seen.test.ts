/** Tests through gRPC what is unseen: the number of unseen lines, and that seen is not read. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOwner, type Owner } from "../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

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
  test("stays so, and the order too, when somebody takes a like back and likes again", async () => {
    const owner = createOwner(server);
    await owner.register("flap", "calm");
    await owner.react("flap", "A", "B", "C");
    await owner.react("calm", "A");
    expect(await markSeen(owner, 4)).toBe(0);
    const lines = await owner.unread();
    for (let i = 0; i < 3; i++) {
      await owner.unreact("flap", "C");
      await owner.react("flap", "C");
      expect(await stars(owner)).toBe("calm flap");
    }
    expect(await owner.unread()).toEqual(lines);
  });

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

  test("again, or at an older version, changes nothing", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A", "B");
    await markSeen(owner, 2);
    const before = await dump(server);
    expect(await markSeen(owner, 2)).toBe(0);
    expect(await markSeen(owner, 1)).toBe(0);
    expect(await dump(server)).toEqual(before);
  });

  test("at a version beyond the latest counts as the latest", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A");
    expect(await markSeen(owner, 2 ** 53 - 1)).toBe(0);
    await owner.react("x", "B");
    expect([await unseen(owner), await stars(owner)]).toEqual([1, "x*"]);
  });

  test("of one owner leaves another owner's lines unseen", async () => {
    const owner = createOwner(server);
    const other = createOwner(server);
    for (const each of [owner, other]) {
      await each.register("x");
      await each.react("x", "A");
    }
    await markSeen(owner, 1);
    expect([await unseen(owner), await unseen(other)]).toEqual([0, 1]);
    expect([await stars(owner), await stars(other)]).toEqual(["x", "x*"]);
    expect(await other.badge()).toBe("1 people in 1 at 1");
  });
});

describe("the number of unseen lines", () => {
  test("leaves out lines that were read, which count as seen", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A", "B");
    await owner.react("y", "A");
    await owner.read("x", 1);
    expect([await unseen(owner), await stars(owner)]).toEqual([2, "y* x* x"]);
    await owner.read("x", 2);
    expect([await unseen(owner), await stars(owner)]).toEqual([1, "y* x x"]);
    await owner.unreact("y", "A");
    expect([await unseen(owner), await stars(owner)]).toEqual([0, "x x"]);
  });

  test("of a deleted target's lines is taken off", async () => {
    const owner = createOwner(server);
    await owner.register("x", "y");
    await owner.react("x", "A");
    await owner.react("y", "A");
    await owner.notify("x", "e1", "B");
    expect(await unseen(owner)).toBe(3);
    await server.reactions.deleteTarget({ targetName: owner.target("x") });
    expect([await unseen(owner), await stars(owner)]).toEqual([1, "y*"]);
    expect(await owner.badge()).toMatch(/^1 people in 1 at /);
  });

  test("ends at 99, while the other numbers are exact", async () => {
    const owner = createOwner(server);
    const ids = Array.from({ length: 102 }, (_, i) => `t${i}`);
    // A few at a time, so that no call waits for many transactions of a busy store.
    for (let i = 0; i < ids.length; i += 26) {
      const some = ids.slice(i, i + 26);
      await Promise.all(some.map((id) => owner.register(id)));
      await Promise.all(some.map((id) => owner.react(id, "A")));
    }
    expect([await unseen(owner), await owner.badge()]).toEqual([99, "102 people in 102 at 102"]);
    // Reads the oldest lines and the latest ones.
    const lines = await owner.list(undefined, 100);
    const seenAfter: number[] = [];
    for (const { notificationId, version } of [...lines.slice(0, 2), ...lines.slice(-2)]) {
      await server.notifications.markNotificationRead({
        ownerId: owner.ownerId,
        notificationId,
        version,
      });
      seenAfter.push(await unseen(owner));
    }
    expect(seenAfter).toEqual([99, 99, 99, 98]);
    expect(await markSeen(owner, 1_000)).toBe(0);
    expect(await owner.badge()).toMatch(/^98 people in 98 at /);
  });
});
