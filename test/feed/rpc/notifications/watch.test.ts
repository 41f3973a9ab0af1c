/** Tests unread count streams through gRPC and HTTP/1.1, from two servers. */
import { once } from "node:events";
import { connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UnreadCount } from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import * as service from "../../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { eventually } from "../../../support/fixtures/waiting.ts";
import { type Refusal, toRefusal } from "../../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../../support/servers/server.ts";

const { NotificationService, WatchUnreadCountsRequestSchema } = service;
const Cause = service.WatchUnreadCountsResponse_End_Cause;

let server: TestServer;
/** Another server on the same store. */
let another: TestServer;

beforeAll(async () => {
  server = await startServer({ testClock: false });
  const { tablePrefix } = server.config;
  another = await startServer({ testClock: false, tablePrefix });
});
afterAll(async () => {
  await another.stop();
  await server.stop();
});

/** A client of the other server. */
const other = () => another.notifications;

let owners = 0;

/** Creates an owner with one target, and a short call to react to it. */
async function createOwner() {
  const ownerId = `owner${++owners}`;
  const target = { type: "post", id: ownerId };
  await server.reactions.registerTarget({ targetName: target, ownerId });
  return {
    ownerId,
    react: (userId: string, { reactions } = server) =>
      reactions.react({ targetName: target, userId, displayName: userId }),
  };
}

type Watches = readonly { readonly ownerId: string; readonly knownVersion?: bigint }[];

/** Opens a stream that the test reads message by message. */
function watchAll(
  watches: Watches,
  client: Client<typeof NotificationService> = server.notifications,
) {
  const leaving = new AbortController();
  const { signal } = leaving;
  const messages = client.watchUnreadCounts({ watches: [...watches] }, { signal });
  const iterator = messages[Symbol.asyncIterator]();
  return {
    async message(): Promise<service.WatchUnreadCountsResponse["content"] | undefined> {
      const { value } = await iterator.next();
      return (value as service.WatchUnreadCountsResponse | undefined)?.content;
    },
    /** Such as `o: 2 people in 1 at 3`; undefined after the last message. */
    async next(): Promise<string | undefined> {
      const content = await this.message();
      if (content?.case !== "update") return content && `ends: ${content.value?.cause}`;
      const { ownerId, unreadCount } = content.value;
      const { actorCount, notificationCount, version } = unreadCount as UnreadCount;
      return `${ownerId}: ${actorCount} people in ${notificationCount} at ${version}`;
    },
    leave: () => leaving.abort(),
  };
}

/** Opens a stream of one owner. Its counts are read without the owner. */
function watch(ownerId: string, client?: Client<typeof NotificationService>) {
  const stream = watchAll([{ ownerId }], client);
  const next = async () => (await stream.next())?.replace(`${ownerId}: `, "");
  return { ...stream, next };
}

/** The refusal to open a stream; undefined when it opens. */
async function openingRefused(
  ownerId: string,
  client: Client<typeof NotificationService>,
): Promise<Refusal | undefined> {
  const stream = watch(ownerId, client);
  try {
    await stream.next();
    return undefined;
  } catch (error) {
    return toRefusal(error);
  } finally {
    stream.leave();
  }
}

describe.concurrent("WatchUnreadCounts", () => {
  test("sends the count at once, and again when it has changed", async () => {
    const owner = await createOwner();
    const stream = watch(owner.ownerId);
    expect(await stream.next()).toBe("0 people in 0 at 0");
    await owner.react("A");
    expect(await stream.next()).toBe("1 people in 1 at 1");
    await owner.react("B");
    expect(await stream.next()).toBe("2 people in 1 at 2");
    await server.notifications.markAllNotificationsRead({ ownerId: owner.ownerId, version: 2n });
    expect(await stream.next()).toBe("0 people in 0 at 3");
    expect(await watch(owner.ownerId).next()).toBe("0 people in 0 at 3");
    stream.leave();
  });

  test("sends what another server has changed, over gRPC and HTTP/1.1", async () => {
    const owner = await createOwner();
    const baseUrl = `http://127.0.0.1:${another.http1Port}`;
    const asTests: Interceptor = (next) => (request) => {
      request.header.set("meguri-caller", "tests");
      return next(request);
    };
    const interceptors = [asTests];
    const transport = createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors });
    const streams = [
      watch(owner.ownerId, other()),
      watch(owner.ownerId, createClient(NotificationService, transport)),
    ];
    for (const stream of streams) expect(await stream.next()).toBe("0 people in 0 at 0");
    for (const [i, userId] of ["A", "B", "C"].entries()) {
      await owner.react(userId);
      const counted = `${i + 1} people in 1 at ${i + 1}`;
      for (const stream of streams) expect(await stream.next()).toBe(counted);
    }
    for (const stream of streams) stream.leave();
  });

  test("sends further events of a person, which change no number, and a retraction", async () => {
    const { ownerId } = await createOwner();
    const comment = { targetName: { type: "post", id: ownerId }, kind: "comment", userId: "A" };
    const streams = [watch(ownerId), watch(ownerId, other())];
    for (const stream of streams) expect(await stream.next()).toBe("0 people in 0 at 0");
    for (const n of [1, 2]) {
      await server.notifications.notify({ ...comment, eventId: `e${n}` });
      for (const stream of streams) expect(await stream.next()).toBe(`1 people in 1 at ${n}`);
    }
    const { targetName } = comment;
    await server.notifications.retractEvent({ targetName, eventId: "e2" });
    for (const stream of streams) {
      expect(await stream.next()).toBe("1 people in 1 at 3");
      stream.leave();
    }
    // A client that comes back gets what came in between.
    const late = watchAll([{ ownerId, knownVersion: 2n }], other());
    expect(await late.next()).toBe(`${ownerId}: 1 people in 1 at 3`);
    late.leave();
  });

  test("never goes back and ends at the last count, from either server", async () => {
    const owner = await createOwner();
    const { tablePrefix } = server.config;
    const second = await startServer({ testClock: false, tablePrefix });
    const streams = [watch(owner.ownerId), watch(owner.ownerId, second.notifications)];
    const seen = streams.map(async (stream) => {
      const versions: number[] = [];
      while (versions.at(-1) !== 60) {
        versions.push(Number((await stream.next())?.split(" ").at(-1)));
      }
      return versions;
    });
    for (let i = 0; i < 30; i++) {
      await Promise.all([owner.react(`a${i}`), owner.react(`b${i}`, second)]);
    }
    for (const versions of await Promise.all(seen)) {
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
    }
    for (const stream of streams) stream.leave();
    await second.stop();
  });

  test("has streams for each service, and a free place when a client leaves", async () => {
    const { tablePrefix } = server.config;
    const env = { MEGURI_MAX_STREAMS: "3" };
    // Three streams, and two of them for one service.
    const limited = await startServer({ testClock: false, tablePrefix, env });
    const { notifications } = limited;
    const streams = [watch("a", notifications), watch("b", notifications)];
    for (const stream of streams) await stream.next();
    expect(await openingRefused("c", notifications)).toMatchObject({
      code: "ResourceExhausted",
      reason: "TOO_MANY_STREAMS",
      retries: true,
    });
    const { notifications: ofAnother } = limited.clientsOf("another-service");
    expect(await openingRefused("c", ofAnother)).toBeUndefined();
    streams[0]?.leave();
    await eventually(async () => expect(await openingRefused("c", notifications)).toBeUndefined());
    streams[1]?.leave();
    await limited.stop();
  });

  test("ends with a client's deadline and its status", async () => {
    const session = connect(`http://127.0.0.1:${server.port}`);
    const request = session.request({
      ":method": "POST",
      ":path": "/meguri.notifications.v1.NotificationService/WatchUnreadCounts",
      "content-type": "application/grpc",
      "grpc-timeout": "300m",
      te: "trailers",
      "meguri-caller": "tests",
    });
    const message = create(WatchUnreadCountsRequestSchema, { watches: [{ ownerId: "o" }] });
    const body = toBinary(WatchUnreadCountsRequestSchema, message);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(body.length, 1);
    request.end(Buffer.concat([prefix, body]));
    request.resume();
    const [trailers] = await once(request, "trailers");
    expect(Number(trailers["grpc-status"])).toBe(Code.DeadlineExceeded);
    session.destroy();
  });

  test("accepts a deadline that is longer than a stream", async () => {
    const messages = server.notifications.watchUnreadCounts(
      { watches: [{ ownerId: "o" }] },
      { timeoutMs: 35 * 60_000 },
    );
    for await (const { content } of messages) {
      expect(content.case).toBe("update");
      break;
    }
  });

  test("watches several owners at once, and sends nothing that the client knows", async () => {
    const [one, two] = [await createOwner(), await createOwner()];
    await one.react("A");
    const watches = [{ ownerId: one.ownerId, knownVersion: 1n }, { ownerId: two.ownerId }];
    const stream = watchAll(watches);
    expect(await stream.next()).toBe(`${two.ownerId}: 0 people in 0 at 0`);
    await one.react("B");
    expect(await stream.next()).toBe(`${one.ownerId}: 2 people in 1 at 2`);
    await two.react("C");
    expect(await stream.next()).toBe(`${two.ownerId}: 1 people in 1 at 1`);
    stream.leave();
  });

  test("says that a read notification was dismissed, also to another phone", async () => {
    const owner = await createOwner();
    const { ownerId } = owner;
    const streams = [watch(ownerId), watch(ownerId, other())];
    const receive = async (text: string) => {
      for (const stream of streams) expect(await stream.next()).toBe(text);
    };
    await receive("0 people in 0 at 0");
    await owner.react("A");
    await receive("1 people in 1 at 1");
    const { notifications } = server;
    const listed = await notifications.listNotifications({ ownerId });
    const { notificationId = "" } = listed.notifications[0] ?? {};
    const seen = { ownerId, notificationId, version: 1n };
    await notifications.markNotificationRead(seen);
    await receive("0 people in 0 at 2");
    await notifications.dismissNotification(seen);
    await receive("0 people in 0 at 3");
    for (const stream of streams) stream.leave();
  });

  test("sends nothing for likes of a muted target", async () => {
    const owner = await createOwner();
    const { ownerId } = owner;
    const streams = [watch(ownerId), watch(ownerId, other())];
    for (const stream of streams) expect(await stream.next()).toBe("0 people in 0 at 0");
    const target = { type: "post", id: ownerId };
    await server.notifications.setTargetMuted({ ownerId, targetName: target, muted: true });
    for (let i = 0; i < 5; i++) await owner.react(`muted${i}`);
    await server.notifications.setTargetMuted({ ownerId, targetName: target, muted: false });
    await owner.react("A");
    // Nothing has come in between.
    for (const stream of streams) {
      expect(await stream.next()).toMatch(/^1 people in 1 at/);
      stream.leave();
    }
  });

  test.each([
    ["no owner", [], "watches"],
    ["101 owners", Array.from({ length: 101 }, (_, i) => ({ ownerId: `o${i}` })), "watches"],
    ["an owner twice", [{ ownerId: "o" }, { ownerId: "o" }], "watches"],
    ["a malformed owner", [{ ownerId: "o" }, { ownerId: "#" }], "watches[1].owner_id"],
    [
      "a version beyond 2^53",
      [{ ownerId: "o", knownVersion: 2n ** 60n }],
      "watches[0].known_version",
    ],
  ])("refuses %s", async (_, watches: Watches, field) => {
    const error = await watchAll(watches).next().catch(toRefusal);
    expect(error).toMatchObject({ reason: "INVALID_REQUEST", fields: [field] });
  });

  test("is ended by a drain with a delay, and refused while the server drains", async () => {
    const { tablePrefix } = server.config;
    const env = { MEGURI_DRAIN_SECONDS: "30" };
    const draining = await startServer({ testClock: false, tablePrefix, env });
    const streams = Array.from({ length: 5 }, (_, i) => watch(`o${i}`, draining.notifications));
    for (const stream of streams) await stream.next();
    const drained = draining.server.drain();
    const refused = await watch("o", draining.notifications).next().catch(toRefusal);
    expect(refused).toMatchObject({ code: "Unavailable", reason: "DRAINING", retries: true });
    const delays = await Promise.all(
      streams.map(async ({ message, next }) => {
        const content = await message();
        expect(content).toMatchObject({ case: "end", value: { cause: Cause.DRAINING } });
        expect(await next()).toBeUndefined();
        const end = content?.value as service.WatchUnreadCountsResponse_End;
        return durationMs(end.reopenDelay as Duration);
      }),
    );
    for (const ms of delays) {
      expect(ms).toBeGreaterThanOrEqual(1_000);
      expect(ms).toBeLessThanOrEqual(5_000);
    }
    expect(new Set(delays).size).toBeGreaterThan(1);
    await drained;
    await draining.stop();
  });
});
