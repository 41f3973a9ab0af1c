/** Tests that watches follow scripted streams without missing or repeating an update. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { beforeEach, expect, test, vi } from "vitest";
import { watchBulkGrant } from "../../packages/client/src/watch-bulk-grant.ts";
import { watchUnreadCounts } from "../../packages/client/src/watch-unread-counts.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { BulkGrant_State as State } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  WatchBulkGrantResponse_End_Cause as BulkEnd,
  BulkGrantService,
  WatchBulkGrantResponseSchema,
} from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import {
  WatchUnreadCountsResponse_End_Cause as Cause,
  NotificationService,
  WatchUnreadCountsResponseSchema,
} from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";

/** The pauses between streams, which are recorded and not slept. */
const delays = vi.hoisted(() => [] as number[]);
vi.mock("node:timers/promises", () => ({
  async setTimeout(ms: number, _: undefined, options?: { signal: AbortSignal }) {
    options?.signal.throwIfAborted();
    delays.push(ms);
  },
}));
beforeEach(() => {
  delays.length = 0;
});

type Event = MessageInitShape<typeof WatchUnreadCountsResponseSchema>;
type BulkEvent = MessageInitShape<typeof WatchBulkGrantResponseSchema>;

/** Serves one scripted stream after the other. */
function scripted<T>(streams: (T | Error)[][]) {
  return async function* () {
    for (const event of streams.shift() ?? []) {
      if (event instanceof Error) throw event;
      yield event;
    }
  };
}

const count = (ownerId: string, version: number, people: number): Event => {
  const unreadCount = { version: BigInt(version), actorCount: BigInt(people) };
  return { content: { case: "update", value: { ownerId, unreadCount } } };
};

const end = (ms: number): Event => ({
  content: {
    case: "end",
    value: { cause: Cause.DRAINING, reopenDelay: durationFromMs(ms) },
  },
});

/** Meguri's own error; a refusal unless it has a delay. */
const failure = (code: Code, retryDelayMs?: number) =>
  new ConnectError("failed", code, undefined, [
    { desc: ErrorInfoSchema, value: { reason: "X", domain: "meguri" } },
    ...(retryDelayMs === undefined
      ? []
      : [{ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(retryDelayMs) } }]),
  ]);

const refusal = failure(Code.InvalidArgument);

/** Watches `aoi` and `ben` until `last`. */
async function playCounts(streams: (Event | Error)[][], knownVersion = 0n, last = refusal) {
  const requests: string[] = [];
  const serve = scripted(streams);
  const transport = createRouterTransport(({ service }) => {
    service(NotificationService, {
      async *watchUnreadCounts({ watches }) {
        requests.push(watches.map((watch) => `${watch.ownerId} ${watch.knownVersion}`).join(", "));
        for await (const event of serve()) yield create(WatchUnreadCountsResponseSchema, event);
      },
    });
  });
  const seen: string[] = [];
  const watches = [{ ownerId: "aoi", knownVersion }, { ownerId: "ben" }];
  const client = createClient(NotificationService, transport);
  const error: unknown = await (async () => {
    for await (const { ownerId, unreadCount } of watchUnreadCounts(client, watches, {})) {
      seen.push(`${ownerId} ${unreadCount?.version}`);
    }
  })().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: last.code });
  return { requests, seen };
}

test("a stream is opened again after its delay, with the delivered versions", async () => {
  const { requests, seen } = await playCounts([
    [count("aoi", 4, 1), count("ben", 2, 1), count("aoi", 5, 2), end(7_300)],
    [count("ben", 3, 2), end(250)],
    [refusal],
  ]);
  expect(requests).toEqual(["aoi 0, ben 0", "aoi 5, ben 2", "aoi 5, ben 3"]);
  expect(seen).toEqual(["aoi 4", "ben 2", "aoi 5", "ben 3"]);
  expect(delays).toEqual([7_300, 250]);
});

test("what was delivered is not delivered again", async () => {
  const { requests, seen } = await playCounts([
    [count("aoi", 4, 1), count("ben", 0, 0), end(1)],
    // An owner without reactions.
    [count("ben", 0, 0), count("aoi", 4, 1), end(1)],
    // A further event of a person changes no number.
    [count("aoi", 6, 1), refusal],
  ]);
  expect(requests[2]).toBe("aoi 4, ben 0");
  expect(seen).toEqual(["aoi 4", "ben 0", "aoi 6"]);
});

test("an older count, of a table that was restored from a backup, is delivered", async () => {
  const { requests, seen } = await playCounts([
    [count("aoi", 20, 5), count("aoi", 6, 2), end(1)],
    [count("aoi", 7, 3), refusal],
  ]);
  expect(requests[1]).toBe("aoi 6, ben 0");
  expect(seen).toEqual(["aoi 20", "aoi 6", "aoi 7"]);
});

test("the caller's own version counts as delivered", async () => {
  const { requests, seen } = await playCounts([[count("aoi", 9, 1), refusal]], 8n);
  expect(requests).toEqual(["aoi 8, ben 0"]);
  expect(seen).toEqual(["aoi 9"]);
});

test("a stream that breaks is opened again within ten seconds, then soon", async () => {
  const broken = new ConnectError("the connection broke", Code.Aborted);
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  const { requests } = await playCounts([
    [count("aoi", 4, 1), failure(Code.Unavailable, 5_000)],
    [],
    [broken],
    [refusal],
  ]);
  expect(requests).toEqual(["aoi 0, ben 0", ...Array(3).fill("aoi 4, ben 0")]);
  vi.restoreAllMocks();
  expect(delays[0]).toBeGreaterThanOrEqual(10_000);
  expect(delays[1]).toBeLessThanOrEqual(100);
  expect(delays[2]).toBeLessThanOrEqual(200);
});

test("a stream that has outlived its token is opened again at once, once", async () => {
  const outlived = failure(Code.Unauthenticated);
  const streams = [
    [count("aoi", 4, 1), count("ben", 0, 0), outlived],
    // Nothing new, which shows that the new token was accepted.
    [count("aoi", 4, 1), outlived],
    [count("aoi", 5, 2), outlived],
    [outlived],
    [count("aoi", 6, 3)],
  ];
  const { requests, seen } = await playCounts(streams, 0n, outlived);
  expect(requests).toHaveLength(4);
  expect(seen).toEqual(["aoi 4", "ben 0", "aoi 5"]);
  expect(delays).toEqual([]);
});

test("the signal ends a watch, also between two streams", async () => {
  const controller = new AbortController();
  const serve = scripted([[count("aoi", 1, 1), end(1)]]);
  const transport = createRouterTransport(({ service }) => {
    service(NotificationService, {
      async *watchUnreadCounts() {
        for await (const event of serve()) yield create(WatchUnreadCountsResponseSchema, event);
        controller.abort();
      },
    });
  });
  const client = createClient(NotificationService, transport);
  const { signal } = controller;
  const watch = watchUnreadCounts(client, [{ ownerId: "aoi" }], { signal });
  expect((await watch.next()).done).toBe(false);
  await expect(watch.next()).rejects.toMatchObject({ code: Code.Canceled });
});

/** Watches a bulk grant to the end. Returns the granted rows of each update. */
async function playBulk(streams: (BulkEvent | Error)[][]): Promise<number[]> {
  const serve = scripted(streams);
  const transport = createRouterTransport(({ service }) => {
    service(BulkGrantService, {
      async *watchBulkGrant() {
        for await (const event of serve()) yield create(WatchBulkGrantResponseSchema, event);
      },
    });
  });
  const client = createClient(BulkGrantService, transport);
  const seen: number[] = [];
  for await (const { progress } of watchBulkGrant(client, { bulkGrantId: "b" }, {})) {
    seen.push(progress?.grantedCount ?? -1);
  }
  return seen;
}

const update = (grantedCount: number): BulkEvent => ({
  content: {
    case: "update",
    value: { bulkGrant: { state: State.RUNNING }, progress: { grantedCount } },
  },
});

const bulkEnd = (cause: BulkEnd): BulkEvent => ({ content: { case: "end", value: { cause } } });

test("a bulk grant is followed over all streams, and ends when it is final", async () => {
  const seen = await playBulk([
    [update(1), update(2), bulkEnd(BulkEnd.DRAINING)],
    [update(2), update(3), failure(Code.Unavailable, 40)],
    [update(3), bulkEnd(BulkEnd.TIME_LIMIT)],
    [update(3), update(4), bulkEnd(BulkEnd.FINAL)],
  ]);
  expect(seen).toEqual([1, 2, 3, 4]);
  expect(delays).toHaveLength(3);
  expect(delays[1]).toBeGreaterThanOrEqual(40);
});
