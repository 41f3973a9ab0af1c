/** Tests through gRPC that pages are full whatever they leave out, and that kinds select. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { markAllNotificationsRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { ListNotificationsRequest_State as State } from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createOwner, lineOf, type Owner } from "../../../support/fixtures/owners.ts";
import { allResponses } from "../../../support/fixtures/pages.ts";
import { range } from "../../../support/fixtures/stored-reactions.ts";
import { reasonOf, refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** Registers posts with one like each, in this order. */
async function like(owner: Owner, ids: readonly string[]): Promise<void> {
  await owner.register(...ids);
  for (const id of ids) await owner.react(id, "A");
}

/** The titles on each page. */
async function pagesOf({ ownerId }: Owner, pageSize: number, state: State = State.UNSPECIFIED) {
  const responses = await allResponses((pageToken) =>
    server.notifications.listNotifications({ ownerId, pageSize, pageToken, state }),
  );
  return responses.map(({ notifications }) => notifications.map(({ target }) => target?.title));
}

describe("pages are full", () => {
  test("after the latest posts were deleted, of read and of unread notifications", async () => {
    const owner = createOwner(server);
    const ids = range(1, 30).map((i) => `t${i}`);
    await like(owner, ids);
    await owner.readAll(15);
    const kept = ["t20", "t17", "t8", "t5", "t2", "t1"];
    const deleted = ids.filter((id) => !kept.includes(id));
    await Promise.all(
      deleted.map((id) => server.reactions.deleteTarget({ targetName: owner.target(id) })),
    );
    expect(await pagesOf(owner, 4)).toEqual([kept.slice(0, 4), kept.slice(4)]);
    expect(await pagesOf(owner, 4, State.READ)).toEqual([kept.slice(2)]);
    expect(await pagesOf(owner, 3, State.UNREAD)).toEqual([["t20", "t17"]]);
  });

  test("while sixteen pages have expired, which TTL has not deleted", async () => {
    const owner = createOwner(server);
    await like(owner, ["old1", "old2", "old3"]);
    await owner.readAll(3);
    await like(
      owner,
      range(1, 16 * 3).map((i) => `t${i}`),
    );
    const input = { ownerId: owner.ownerId, version: 100 };
    await markAllNotificationsRead({ ...server.deps, historyMs: 1 }, input);
    await like(owner, ["new1"]);
    await expect.poll(() => pagesOf(owner, 3)).toEqual([["new1", "old3", "old2"], ["old1"]]);
    expect(await pagesOf(owner, 3, State.READ)).toEqual([["old3", "old2", "old1"]]);
  });
});

describe("kinds", () => {
  /** Three posts with a like, a wow, a comment and an event that is called like a reaction. */
  async function setUp() {
    const owner = createOwner(server);
    await like(owner, ["x", "y", "z"]);
    for (const id of ["x", "y", "z"]) {
      const reaction = { targetName: owner.target(id), userId: "B", displayName: "B" };
      await server.reactions.react({ ...reaction, kind: "wow" });
      await owner.notify(id, `c-${id}`, "C");
      await owner.notify(id, `l-${id}`, "D", "like");
    }
    await owner.readAll(9);
    const { ownerId } = owner;
    const list = async (kinds: { reactionKinds?: string[]; eventKinds?: string[] }) => {
      const responses = await allResponses((pageToken) =>
        server.notifications.listNotifications({ ownerId, pageSize: 2, pageToken, ...kinds }),
      );
      for (const { notifications, nextPageToken } of responses) {
        if (nextPageToken !== "") expect(notifications).toHaveLength(2);
      }
      return responses.flatMap(({ notifications }) => notifications.map(lineOf));
    };
    return { owner, list };
  }

  test("of reactions, of events and of both select notifications of both states", async () => {
    const { list } = await setUp();
    const likes = ["z: A ... A (1 at 3)", "y: A ... A (1 at 2)", "x: A ... A (1 at 1)"];
    const comments = [
      "z comment: C ... C (1 at 11)",
      "y comment: C ... C (1 at 8)",
      "x comment: C ... C (1 at 5)",
    ];
    const events = ["z: D ... D (1 at 12)", "y: D ... D (1 at 9)", "x: D ... D (1 at 6)"];
    expect(await list({ reactionKinds: ["like"] })).toEqual(likes);
    expect(await list({ eventKinds: ["comment"] })).toEqual(comments);
    expect(await list({ eventKinds: ["like"] })).toEqual(events);
    expect(await list({ reactionKinds: ["like", "haha"], eventKinds: ["comment"] })).toEqual([
      ...comments,
      ...likes,
    ]);
    expect(await list({ reactionKinds: ["haha"] })).toEqual([]);
    expect(await list({})).toHaveLength(12);
  });

  test("are part of what a page_token belongs to", async () => {
    const { owner } = await setUp();
    const request = { ownerId: owner.ownerId, pageSize: 1, reactionKinds: ["like"] };
    const { nextPageToken: pageToken } = await server.notifications.listNotifications(request);
    const others = [{ reactionKinds: ["wow"] }, { reactionKinds: [], eventKinds: ["like"] }];
    for (const other of others) {
      const call = server.notifications.listNotifications({ ...request, pageToken, ...other });
      expect(await refusalOf(call)).toMatchObject({ fields: ["page_token"] });
    }
  });

  test("are at most 16 of reactions and 16 of events, each once", async () => {
    const { ownerId } = createOwner(server);
    const kinds = range(1, 17).map((i) => `k${i}`);
    const list = (reactionKinds: string[], eventKinds: string[]) =>
      server.notifications.listNotifications({ ownerId, reactionKinds, eventKinds });
    await list(kinds.slice(1), kinds.slice(1));
    for (const wrong of [kinds, ["like", "like"], [""], ["~like"]]) {
      expect(await reasonOf(list(wrong, []))).toBe("INVALID_REQUEST");
      expect(await reasonOf(list([], wrong))).toBe("INVALID_REQUEST");
    }
  });
});
