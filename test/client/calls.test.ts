/** Tests calls of the client package through each transport, against the real server. */
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createMeguri,
  isRefusal,
  type Meguri,
  type MeguriOptions,
  metadataOf,
  reasonOf,
  violationsOf,
} from "../../packages/client/src/index.ts";
import { BulkGrant_State as State } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { at } from "../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
const open: Meguri[] = [];
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-11-01T00:00:00Z") });
});
afterAll(async () => {
  for (const client of open) client.close();
  await server.stop();
});

function clientOf(options?: Partial<MeguriOptions>): Meguri {
  const client = createMeguri({
    url: `http://127.0.0.1:${server.port}`,
    caller: "shop",
    ...options,
  });
  open.push(client);
  return client;
}

describe.each([
  ["gRPC", () => clientOf()],
  [
    "Connect over HTTP/2",
    () => clientOf({ transport: "connect", url: `http://localhost:${server.port}` }),
  ],
  [
    "Connect over HTTP/1.1",
    () =>
      clientOf({
        transport: "connect",
        httpVersion: "1.1",
        url: `http://localhost:${server.http1Port}`,
      }),
  ],
])("%s", (name, make) => {
  let client: Meguri;
  const userId = name.replaceAll(" ", "-");
  beforeAll(() => {
    client = make();
  });

  test("serves calls, under the client's name", async () => {
    await client.points.grantPoints({ userId, eventId: "e", points: 7n });
    const { entries } = await client.points.listLedgerEntries({ userId });
    expect(entries).toMatchObject([{ points: 7n, caller: { service: "shop" } }]);
    const { programs } = await client.programs.listPrograms({});
    expect(programs.map(({ programId }) => programId)).toEqual(["default"]);
  });

  test("reads the reasons of errors", async () => {
    const { points } = client;
    const use = points.usePoints({ userId, eventId: "much", points: 1_000n });
    const error: unknown = await use.catch((thrown: unknown) => thrown);
    expect(reasonOf(error)).toBe("INSUFFICIENT_POINTS");
    expect(metadataOf(error)).toEqual({ available_points: "7" });
    expect.assert(isRefusal(error, "INSUFFICIENT_POINTS"));
    expect(error.reasonMetadata).toEqual({ availablePoints: 7n });
    const empty: unknown = await points
      .usePoints({ userId: "", eventId: "", points: 0n })
      .catch((thrown: unknown) => thrown);
    expect(reasonOf(empty)).toBe("INVALID_REQUEST");
    expect(violationsOf(empty).map(({ field }) => field)).toContain("user_id");
    expect(reasonOf(new Error("mine"))).toBeUndefined();
  });

  test.each([
    ["more than 64 bits", { points: 2n ** 70n }],
    ["a fraction", { points: 1.5 as unknown as bigint }],
  ])("refuses %s, which cannot be encoded, at once", async (_, request) => {
    const encoded = client.points.grantPoints({ userId, eventId: "wrong", ...request });
    const error: unknown = await encoded.catch((thrown: unknown) => thrown);
    expect([reasonOf(error), ConnectError.from(error).code]).toEqual([
      "INVALID_REQUEST",
      Code.InvalidArgument,
    ]);
  });

  test.each([
    ["a text", "user_id", () => client.points.getBalance({ userId: "a\ud800" })],
    [
      "a text in a list of messages",
      "reservations[1].reason",
      () => {
        const row = { userId, points: 1n, executeTime: at("2027-01-01T00:00:00Z") };
        const reservations = ["whole 🎁", "half \udf81"].map((reason, i) => ({
          ...row,
          reason,
          reservationId: `r${i}`,
        }));
        return client.reservations.batchCreateReservations({ reservations });
      },
    ],
    [
      "an item of a list",
      "kinds[0]",
      () => client.reactions.listUserReactions({ userId, kinds: ["\udc00"] }),
    ],
    [
      "a text in a oneof",
      "user_id",
      () => client.reservations.listReservations({ filter: { case: "userId", value: "\ud83c" } }),
    ],
    [
      "a row of an upload",
      "rows.rows[0].reason",
      () => {
        const header = { bulkGrantId: `half-${userId}` };
        const rows = [{ userId: "u", points: 1n, reason: "half \ud83c" }];
        return client.uploadBulkGrant(header, { rows });
      },
    ],
    [
      "the request of a stream",
      "watches[0].owner_id",
      () =>
        client
          .watchUnreadCounts([{ ownerId: "\ud83c" }])
          [Symbol.asyncIterator]()
          .next(),
    ],
  ])("refuses half a surrogate pair in %s before it is sent", async (_, field, send) => {
    const error: unknown = await send().catch((thrown: unknown) => thrown);
    expect(isRefusal(error, "INVALID_REQUEST"), String(error)).toBe(true);
    expect(ConnectError.from(error).code).toBe(Code.InvalidArgument);
    const description = "has half a surrogate pair, which is no character";
    expect(violationsOf(error)).toEqual([{ field, description }]);
  });

  test("stores whole surrogate pairs", async () => {
    await client.points.grantPoints({ userId, eventId: "gift", points: 1n, reason: "🎁" });
    const { entries } = await client.points.listLedgerEntries({ userId });
    expect(entries[0]).toMatchObject({ reason: "🎁" });
  });

  test("watches unread counts, until its signal", async () => {
    const controller = new AbortController();
    const ownerId = `owner-${userId}`;
    const watch = client.watchUnreadCounts([{ ownerId }], { signal: controller.signal });
    const watching = watch[Symbol.asyncIterator]();
    expect((await watching.next()).value).toMatchObject({ unreadCount: { actorCount: 0n } });
    const target = { type: "post", id: userId };
    await client.reactions.registerTarget({ targetName: target, ownerId });
    await client.reactions.react({ targetName: target, userId: "fan", displayName: "Fan" });
    expect((await watching.next()).value).toMatchObject({ unreadCount: { actorCount: 1n } });
    controller.abort();
    await expect(watching.next()).rejects.toMatchObject({ code: Code.Canceled });
  });

  test("uploads and watches bulk grants", async () => {
    const bulkGrantId = `bulk-${userId}`;
    const lines = Array.from({ length: 5_000 }, (_, i) => `user-${i},1,a reason`);
    const csv = Buffer.from(["user_id,points,reason", ...lines, ""].join("\n"));
    const { bulkGrant } = await client.uploadBulkGrant({ bulkGrantId }, { csv });
    expect(bulkGrant).toMatchObject({ state: State.VALIDATING, rowCount: 5_000 });
    const rows = Array.from({ length: 1_200 }, (_, i) => ({ userId: `u${i}`, points: 2n }));
    const header = { bulkGrantId: `${bulkGrantId}-rows` };
    const uploaded = await client.uploadBulkGrant(header, { rows });
    expect(uploaded.bulkGrant).toMatchObject({ rowCount: 1_200, totalPoints: 2_400n });
    const seen: (State | undefined)[] = [];
    for await (const update of client.watchBulkGrant({ bulkGrantId })) {
      seen.push(update.bulkGrant?.state);
      if (seen.length === 1) await client.bulkGrants.cancelBulkGrant({ bulkGrantId });
    }
    expect(seen).toEqual([State.VALIDATING, State.CANCELLED]);
  });
});

test("gRPC over HTTP/1.1 is refused", () => {
  expect(() => clientOf({ httpVersion: "1.1" })).toThrow("gRPC needs HTTP/2");
});

test("a closed client fails its calls and ends its watches", async () => {
  const client = clientOf();
  const watching = client.watchUnreadCounts([{ ownerId: "x" }])[Symbol.asyncIterator]();
  await watching.next();
  const next = watching.next();
  client.close();
  await expect(next).rejects.toMatchObject({ code: Code.FailedPrecondition });
  await expect(client.points.getBalance({ userId: "u" })).rejects.toThrow("the client is closed");
});
