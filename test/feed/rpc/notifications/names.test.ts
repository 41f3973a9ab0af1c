/** Tests through gRPC that a notification_id names one notification for ever, unread and read. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Notification } from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner, lineOf, type Owner } from "../../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

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
