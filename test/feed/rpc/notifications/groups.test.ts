/** Tests unread notifications through gRPC: the times of a line, and its target. */
import { setTimeout as sleep } from "node:timers/promises";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Notification } from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner } from "../../../support/fixtures/owners.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

describe("a line", () => {
  test("has the times of its first and its latest person, also after they leave", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    for (const userId of ["A", "B", "C", "D"]) {
      await owner.react("x", userId);
      // The times of reactions are whole milliseconds.
      await sleep(2);
    }
    const line = async () => (await owner.list(State.UNREAD))[0] as Notification;
    const before = await line();
    const created = before.latestActors.map(({ createTime }) => createTime);
    expect(before.updateTime).toEqual(created[0]);
    expect(before.createTime).toEqual(before.firstActors[0]?.createTime);
    const times = [before.createTime, ...created.toReversed()].map((time) =>
      time ? timestampMs(time) : Number.NaN,
    );
    expect(times.every((time, i) => time > (times[i - 1] ?? 0))).toBe(true);
    await owner.unreact("x", "D", "A");
    const after = await line();
    expect(after.updateTime).toEqual(created[1]);
    expect(after.createTime).toEqual(before.firstActors[1]?.createTime);
    expect([after.readTime, after.expireTime]).toEqual([undefined, undefined]);
  });

  test("shows a target as it is now", async () => {
    const owner = createOwner(server);
    await owner.register("x");
    await owner.react("x", "A");
    const { ownerId } = owner;
    const changed = { targetName: owner.target("x"), ownerId, title: "New", link: "/new" };
    await server.reactions.registerTarget(changed);
    await owner.mute("x", true);
    expect(await owner.list(State.UNREAD)).toMatchObject([
      { target: { title: "New", link: "/new", muted: true }, kind: "like" },
    ]);
  });
});
