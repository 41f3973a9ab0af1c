/** Tests RetractEvent through gRPC: unread and read events, names, people, badge, and refusals. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { reasonOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** An owner with a target and comments of these people, `e1` and so on. */
async function commentedBy(...userIds: string[]) {
  const owner = createOwner(server);
  await owner.register("x");
  for (const [i, userId] of userIds.entries()) await owner.notify("x", `e${i + 1}`, userId);
  return { owner, retract: retractOf(owner) };
}

/** Retracts an event, and returns whether that changed anything. */
const retractOf = (owner: Owner) => async (eventId: string) => {
  const request = { eventId, targetName: owner.target("x") };
  const { results } = await server.notifications.retractEvent(request);
  expect(results.map(({ ownerId }) => ownerId)).toEqual([owner.ownerId]);
  return results[0]?.changed;
};

const eventsIn = async (owner: Owner, state: State) =>
  (await owner.list(state)).map(({ eventCount, latestEvents }) => [
    eventCount,
    latestEvents.map(({ eventId }) => eventId).join(" "),
  ]);

describe("an unread event", () => {
  test("leaves its line; the person stays for as long as another one does", async () => {
    const { owner, retract } = await commentedBy("A", "B", "A");
    expect(await retract("e1")).toBe(true);
    expect(await owner.unread()).toEqual(["x comment: B A ... A B (2 at 3)"]);
    expect(await owner.badge()).toBe("2 people in 1 at 4");
    expect(await retract("e3")).toBe(true);
    expect(await owner.unread()).toEqual(["x comment: B ... B (1 at 2)"]);
    expect(await eventsIn(owner, State.UNREAD)).toEqual([[1n, "e2"]]);
    expect(await owner.badge()).toBe("1 people in 1 at 5");
    await owner.notify("x", "e4", "A");
    expect(await owner.badge()).toBe("2 people in 1 at 6");
  });

  test("is replaced by other ones where a large line shows it", async () => {
    const people = ["A", "B", "C", "D", "E", "F", "G", "H"];
    const { owner, retract } = await commentedBy(...people);
    await retract("e1");
    await retract("e8");
    expect(await owner.unread()).toEqual(["x comment: B C ... G F E (6 at 7)"]);
    expect(await eventsIn(owner, State.UNREAD)).toEqual([[6n, "e7 e6 e5"]]);
    const [line] = await owner.list();
    expect(await owner.actors(line?.notificationId ?? "")).toEqual(["G", "F", "E", "D", "C", "B"]);
  });

  test("is retracted: a replay says so, and does not bring it back", async () => {
    const { owner, retract } = await commentedBy("A", "B");
    await retract("e1");
    const { results } = await owner.notify("x", "e1", "A");
    expect(results).toMatchObject([{ notified: false, replayed: true, retracted: true }]);
    expect(await owner.badge()).toBe("1 people in 1 at 3");
  });
});

describe("a read event", () => {
  test("leaves the read line, whose name stays", async () => {
    const { owner, retract } = await commentedBy("A", "B", "A");
    const [line] = await owner.list();
    await owner.readAll(2);
    expect(await owner.unread()).toEqual(["x comment: A ... A (1 at 3)"]);
    expect(await retract("e1")).toBe(true);
    expect(await owner.unread()).toEqual(["x comment: A ... A (1 at 3)"]);
    expect(await owner.history()).toEqual(["x comment: B ... B (1 at 2)"]);
    const [read] = await owner.list(State.READ);
    expect(read?.notificationId).toBe(line?.notificationId);
    expect(await retract("e2")).toBe(true);
    expect(await owner.history()).toEqual([]);
    expect(await retract("e3")).toBe(true);
    expect(await owner.list()).toEqual([]);
  });
});

describe("retracting", () => {
  test("concerns the service's own events, and says when there is none", async () => {
    const { owner, retract } = await commentedBy("A");
    const before = await dump(server);
    expect(await reasonOf(retract("e2"))).toBe("EVENT_NOT_FOUND");
    const request = { eventId: "e1", targetName: owner.target("x") };
    const { notifications } = server.clientsOf("another-service");
    expect(await reasonOf(notifications.retractEvent(request))).toBe("EVENT_NOT_FOUND");
    expect(await dump(server)).toEqual(before);
  });

  test("retracts an event from many owners, also where some were never notified", async () => {
    const owner = createOwner(server);
    const ownerIds = ["a", "b", "c"].map((name) => `${owner.ownerId}-${name}`);
    const event = { eventId: "m", kind: "mention", userId: "A", displayName: "A" };
    await server.notifications.notify({ ...event, ownerIds: ownerIds.slice(0, 2) });
    const { results } = await server.notifications.retractEvent({ eventId: "m", ownerIds });
    expect(results.map(({ changed }) => changed)).toEqual([true, true, false]);
    for (const ownerId of ownerIds) {
      const { notifications } = await server.notifications.listNotifications({ ownerId });
      expect(notifications).toEqual([]);
    }
  });

  test("a muted event is remembered", async () => {
    const { owner, retract } = await commentedBy();
    await owner.mute("x", true);
    await owner.notify("x", "e1", "A");
    expect(await retract("e1")).toBe(true);
    expect(await retract("e1")).toBe(false);
  });
});
