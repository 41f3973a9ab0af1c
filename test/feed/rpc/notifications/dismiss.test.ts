/** Tests through gRPC that a dismissed notification is in no list any more. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const dismiss = async ({ ownerId }: Owner, notificationId: string, version: number) => {
  const request = { ownerId, notificationId, version: BigInt(version) };
  const { changed, unreadCount } = await server.notifications.dismissNotification(request);
  expect((await server.notifications.getUnreadCount({ ownerId })).unreadCount).toEqual(unreadCount);
  return changed;
};

/** An owner with a line of these people, and its id. */
async function listed(...userIds: string[]) {
  const owner = createOwner(server);
  await owner.register("x");
  await owner.react("x", ...userIds);
  const id = await owner.idOf("x");
  return { owner, id };
}

describe("DismissNotification", () => {
  test("removes an unread notification from all lists, and counts it as read", async () => {
    const { owner, id } = await listed("A", "B");
    const { ownerId } = owner;
    expect(await dismiss(owner, id, 2)).toBe(true);
    expect(await owner.badge()).toBe("0 people in 0 at 3");
    expect([await owner.unread(), await owner.history()]).toEqual([[], []]);
    const get = server.notifications.getNotification({ ownerId, notificationId: id });
    await expect(get).rejects.toThrow(/no such notification/);
    await owner.react("x", "C");
    expect(await owner.unread()).toEqual(["x: C ... C (1 at 4)"]);
    expect(await owner.counts("x")).toEqual({ like: 3 });
  });

  test("removes a read notification, and nothing else", async () => {
    const { owner, id } = await listed("A");
    await owner.read("x", 1);
    await owner.react("x", "B");
    expect(await owner.badge()).toBe("1 people in 1 at 3");
    expect(await dismiss(owner, id, 1)).toBe(true);
    expect(await owner.history()).toEqual([]);
    expect(await owner.unread()).toEqual(["x: B ... B (1 at 3)"]);
    expect(await owner.badge()).toBe("1 people in 1 at 4");
    expect(await dismiss(owner, id, 1)).toBe(false);
    expect(await owner.badge()).toBe("1 people in 1 at 4");
  });

  test("leaves an event to be retracted", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    const { ownerId } = owner;
    await owner.notify("x", "1", "A");
    const [line] = await owner.list();
    expect(await dismiss(owner, line?.notificationId ?? "", 1)).toBe(true);
    const retracted = await server.notifications.retractEvent({
      eventId: "1",
      ownerIds: [ownerId],
    });
    expect(retracted.results).toMatchObject([{ changed: true }]);
    expect(await owner.list()).toEqual([]);
  });
});
