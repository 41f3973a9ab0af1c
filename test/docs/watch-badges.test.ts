/** Runs the watching client of docs/call/notifications.md against scripted streams. */
import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { type Duration, durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchBadges } from "../../examples/watch-badges.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import {
  WatchUnreadCountsResponse_End_Cause as Cause,
  NotificationService,
  type WatchUnreadCountsResponse,
  WatchUnreadCountsResponseSchema,
} from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { codeNamed, projectRoot } from "../support/markdown.ts";

/** The pauses of the client, which are recorded and not slept. */
const delays: (number | undefined)[] = [];
beforeEach(() => {
  delays.length = 0;
  const sleepNot = (run: () => void, ms?: number) => {
    delays.push(ms);
    queueMicrotask(run);
    return 0;
  };
  vi.stubGlobal("setTimeout", sleepNot);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

type Stream = (WatchUnreadCountsResponse | Error)[];

const count = (ownerId: string, version: bigint) =>
  create(WatchUnreadCountsResponseSchema, {
    content: { case: "update", value: { ownerId, unreadCount: { version } } },
  });

const end = (reopenDelay: Duration) =>
  create(WatchUnreadCountsResponseSchema, {
    content: { case: "end", value: { cause: Cause.DRAINING, reopenDelay } },
  });

const refusal = (code: Code, retryDelayMs?: number) =>
  new ConnectError("refused", code, undefined, [
    { desc: ErrorInfoSchema, value: { reason: "X", domain: "meguri" } },
    ...(retryDelayMs === undefined
      ? []
      : [{ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(retryDelayMs) } }]),
  ]);

/** Watches two owners; the server answers each request by the next stream. */
async function play(streams: Stream[], signal = new AbortController().signal) {
  const requests: string[] = [];
  const shown: string[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(NotificationService, {
      async *watchUnreadCounts({ watches }) {
        requests.push(watches.map((watch) => `${watch.ownerId} ${watch.knownVersion}`).join(", "));
        for (const message of streams[requests.length - 1] ?? []) {
          if (message instanceof Error) throw message;
          yield message;
        }
      },
    });
  });
  const client = createClient(NotificationService, transport);
  const watching = watchBadges(
    client,
    ["aoi", "ben"],
    (ownerId, { version }) => shown.push(`${ownerId} ${version}`),
    signal,
  );
  const error: unknown = await watching.catch((reason: unknown) => reason);
  return { requests, shown, error };
}

const lastStream = [refusal(Code.InvalidArgument)];

test("the page shows the code of the example", () => {
  const file = readFileSync(`${projectRoot}examples/watch-badges.ts`, "utf8");
  expect(codeNamed("docs/call/notifications.md", "watch")).toBe(file);
});

test("a stream that ended is opened again after its delay, with known versions", async () => {
  const { requests, shown } = await play([
    [count("aoi", 4n), count("ben", 2n), count("aoi", 5n), end(durationFromMs(7_300))],
    [count("ben", 3n), end(durationFromMs(250))],
    lastStream,
  ]);
  expect(requests).toEqual(["aoi 0, ben 0", "aoi 5, ben 2", "aoi 5, ben 3"]);
  expect(shown).toEqual(["aoi 4", "ben 2", "aoi 5", "ben 3"]);
  expect(delays).toEqual([7_300, 250]);
});

test("after a failure the client waits for the delay of its RetryInfo, or a second", async () => {
  const { requests } = await play([
    [count("aoi", 4n), refusal(Code.Unavailable, 5_000)],
    [new ConnectError("the connection broke", Code.Unavailable)],
    [refusal(Code.DeadlineExceeded)],
    lastStream,
  ]);
  expect(requests).toEqual(["aoi 0, ben 0", ...Array(3).fill("aoi 4, ben 0")]);
  const ranges = [
    // The streams of a server that vanished come back within ten seconds.
    [5_000, 15_000],
    [1_000, 2_000],
    [1_000, 2_000],
  ] as const;
  for (const [i, [least, most]] of ranges.entries()) {
    expect(delays[i]).toBeGreaterThanOrEqual(least);
    expect(delays[i]).toBeLessThanOrEqual(most);
  }
  expect(delays).toHaveLength(3);
});

test("a stream that ended with its token is opened again, and a refused one ends it", async () => {
  const expired = refusal(Code.Unauthenticated);
  const { requests, error } = await play([[count("aoi", 4n), expired], [expired]]);
  expect(requests).toEqual(["aoi 0, ben 0", "aoi 4, ben 0"]);
  expect(delays).toEqual([0]);
  expect(error).toMatchObject({ code: Code.Unauthenticated });
});

test("a refusal ends it", async () => {
  const { requests, error } = await play([lastStream]);
  expect(requests).toHaveLength(1);
  expect(error).toMatchObject({ code: Code.InvalidArgument });
});

test("the abort ends it", async () => {
  const controller = new AbortController();
  controller.abort();
  const { shown, error } = await play([], controller.signal);
  expect(shown).toEqual([]);
  expect(error).toBe(controller.signal.reason);
});
