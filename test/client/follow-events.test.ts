/** Tests that events are followed from a cursor on, and that the cursor is saved after them. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { beforeEach, expect, test, vi } from "vitest";
import { followEvents } from "../../packages/client/src/follow-events.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import type { Event } from "../../src/gen/meguri/events/v1/event_pb.ts";
import {
  EventService,
  type ReadEventsRequest,
  type ReadEventsResponseSchema,
} from "../../src/gen/meguri/events/v1/event_service_pb.ts";

vi.mock("node:timers/promises", () => ({
  async setTimeout(_: number, __: undefined, options?: { signal: AbortSignal }) {
    options?.signal.throwIfAborted();
  },
}));

type Page = MessageInitShape<typeof ReadEventsResponseSchema>;

const requests: ReadEventsRequest[] = [];
let pages: (Page | ConnectError)[] = [];
beforeEach(() => {
  requests.length = 0;
});

const client = createClient(
  EventService,
  createRouterTransport(({ service }) =>
    service(EventService, {
      readEvents(request) {
        requests.push(request);
        const page = pages.shift() ?? failure("CURSOR_EXPIRED");
        if (page instanceof ConnectError) throw page;
        return page;
      },
    }),
  ),
);

const page = (cursor: string, ...ids: string[]): Page => ({
  events: ids.map((id) => ({ id })),
  cursor,
});

/** A refusal, unless it may be tried again. */
const failure = (reason: string, isRetryable = false) =>
  new ConnectError("failed", isRetryable ? Code.Unavailable : Code.FailedPrecondition, undefined, [
    { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason, domain: "meguri" }) },
    ...(isRetryable
      ? [{ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay: { seconds: 1n } }) }]
      : []),
  ]);

/** What happens: the ids of events, and the cursors that are saved. */
const steps: string[] = [];
beforeEach(() => {
  steps.length = 0;
});
const save = async (cursor: string) => {
  await Promise.resolve();
  steps.push(`saved ${cursor}`);
};
async function follow(events: AsyncIterable<Event>, last?: string): Promise<void> {
  for await (const { id } of events) {
    steps.push(id);
    if (id === last) return;
  }
}
const cursors = () => requests.map(({ cursor }) => cursor);

test("the cursor is saved when the loop has asked for the event behind a page", async () => {
  pages = [page("c1", "a", "b"), page("c2"), page("c3", "c"), page("c3")];
  await expect(follow(followEvents(client, { cursor: "c0", save }, {}))).rejects.toThrow("failed");
  expect(steps).toEqual(["a", "b", "saved c1", "saved c2", "c", "saved c3"]);
  expect(cursors()).toEqual(["c0", "c1", "c2", "c3", "c3"]);
});

test("a loop that is left saves nothing of its page", async () => {
  pages = [page("c1", "a"), page("c2", "b", "c")];
  await follow(followEvents(client, { cursor: "c0", save }, {}), "b");
  expect(steps).toEqual(["a", "saved c1", "b"]);
});

test("the first call has a time and does not wait, the next ones wait at a cursor", async () => {
  pages = [page("c1"), page("c2", "a")];
  const startTime = { seconds: 5n };
  const types = ["points.used"];
  await follow(followEvents(client, { startTime, types, allPrograms: true }, {}), "a");
  expect(requests).toMatchObject([
    { startTime, types, allPrograms: true, cursor: "" },
    { types, allPrograms: true, cursor: "c1", maxWait: { seconds: 20n } },
  ]);
  expect(requests.map(({ maxWait }) => maxWait !== undefined)).toEqual([false, true]);
  expect(requests.map((request) => request.startTime !== undefined)).toEqual([true, false]);
});

test("a failure that may pass is tried again from the same cursor, without doubles", async () => {
  const away = failure("STORE_UNAVAILABLE", true);
  pages = [page("c1", "a"), away, away, page("c2", "b")];
  await follow(followEvents(client, { cursor: "c0", save }, {}), "b");
  expect(steps).toEqual(["a", "saved c1", "b"]);
  expect(cursors()).toEqual(["c0", "c1", "c1", "c1"]);
});

test("what save throws ends the loop, before anything else is read", async () => {
  pages = [page("c1", "a"), page("c2", "b")];
  const full = () => Promise.reject(new Error("disk full"));
  await expect(follow(followEvents(client, { save: full }, {}))).rejects.toThrow("disk full");
  expect(requests).toHaveLength(1);
});

test("an aborted signal ends the loop behind its page", async () => {
  const leaving = new AbortController();
  pages = [page("c1", "a", "b"), page("c2", "c")];
  const events = followEvents(client, { cursor: "c0", save }, { signal: leaving.signal });
  const ended = (async () => {
    for await (const { id } of events) {
      steps.push(id);
      leaving.abort();
    }
  })();
  await expect(ended).rejects.toMatchObject({ code: Code.Canceled });
  expect(steps).toEqual(["a", "b", "saved c1"]);
});
