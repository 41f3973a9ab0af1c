/** Tests through gRPC that a notification_id names one notification for ever, unread and read. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Notification } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { ListNotificationsRequest_State as State } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner, lineOf, type Owner } from "../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const mark = ({ ownerId }: Owner, { notificationId, version }: Notification) =>
  server.notifications.markNotificationRead({ ownerId, notificationId, version });

/** An owner with a line of these people, and the line as it was listed. */
async function clicked(...userIds: string[]) {
  const owner = createOwner(server);
  await owner.register("x");
  await owner.react("x", ...userIds);
  const [line] = await owner.list(State.UNREAD);
  return { owner, line: line as Notification };
}

describe("the id of a notification that was clicked", () => {
  test("lists who was in it before the mark, after it, and after later likes", async () => {
    const { owner, line } = await clicked("A", "B");
    const people = () => owner.actors(line.notificationId);
    expect(await people()).toEqual(["B", "A"]);
    await mark(owner, line);
    expect(await people()).toEqual(["B", "A"]);
    await owner.react("x", "C");
    expect(await people()).toEqual(["B", "A"]);
    expect(await owner.actors(await owner.idOf("x"))).toEqual(["C"]);
    await owner.unreact("x", "A");
    expect(await people()).toEqual(["B"]);
  });

  test("is that of the read notification which the mark answers, then and later", async () => {
    const { owner, line } = await clicked("A", "B", "C", "D", "E", "F");
    const first = await mark(owner, line);
    expect(first.changed).toBe(true);
    const read = first.notification as Notification;
    expect(read.notificationId).toBe(line.notificationId);
    expect(lineOf(read)).toBe("x: A B ... F E D (6 at 6)");
    expect([read.seen, read.readTime !== undefined]).toEqual([true, true]);
    await owner.react("x", "G");
    const again = await mark(owner, { ...line, version: 100n });
    expect(again).toMatchObject({ changed: false, notification: read });
    expect(await owner.unread()).toEqual(["x: G ... G (1 at 8)"]);
  });

  test("stays with what was read when people have come in since", async () => {
    const { owner, line } = await clicked("A", "B", "C");
    await owner.react("x", "D", "E", "F", "G");
    const { notification } = await mark(owner, line);
    expect(notification?.notificationId).toBe(line.notificationId);
    expect(await owner.actors(line.notificationId)).toEqual(["C", "B", "A"]);
    expect(await owner.unread()).toEqual(["x: D E ... G F E (4 at 7)"]);
    const rest = await owner.idOf("x");
    expect(rest).not.toBe(line.notificationId);
    expect(await owner.actors(rest)).toEqual(["G", "F", "E", "D"]);
  });

  test("answers no notification when nobody in it is read, or its target is deleted", async () => {
    const { owner, line } = await clicked("A");
    const { ownerId } = owner;
    await owner.unreact("x", "A");
    await owner.react("x", "B");
    const early = { ownerId, notificationId: await owner.idOf("x"), version: 1n };
    expect(await server.notifications.markNotificationRead(early)).toMatchObject({
      changed: false,
    });
    expect((await mark(owner, line)).notification).toBeUndefined();
    await owner.readAll(100);
    const [read] = await owner.list(State.READ);
    await server.reactions.deleteTarget({ targetName: owner.target("x") });
    const answer = await mark(owner, read as Notification);
    expect([answer.changed, answer.notification]).toEqual([false, undefined]);
  });
});

test("no two notifications of a target and kind ever share an id", async () => {
  const { owner } = await clicked("A", "B", "C");
  const ids = new Set<string>();
  for (const step of [
    () => owner.read("x", 2),
    () => owner.react("x", "D"),
    () => owner.readAll(100),
    () => owner.react("x", "E"),
    () => owner.unreact("x", "E"),
    () => owner.react("x", "F"),
    () => owner.readAll(100),
  ]) {
    await step();
    const all = await owner.list();
    const listed = all.map(({ notificationId }) => notificationId);
    expect(new Set(listed).size).toBe(listed.length);
    for (const id of listed) ids.add(id);
  }
  const last = (await owner.list()).map(({ notificationId }) => notificationId);
  expect(last).toHaveLength(3);
  for (const id of last) expect(ids).toContain(id);
});
