/** Tests ReadEvents and WatchEvents through gRPC, on a log that the test appends to. */

import { durationMs } from "@bufbuild/protobuf/wkt";
import type { RequestOf } from "@meguri/client";
import {
  WatchEventsResponse_End_Cause as Cause,
  type Event,
  type ReadEventsRequestSchema,
  type WatchEventsResponse,
} from "@meguri/client/events";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { keptMs } from "../../../src/events/ports/log.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { Personal } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { appending, ofNoProgram, used } from "../../support/fixtures/event-log.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
let append: ReturnType<typeof appending>;
/** The cursor at the end of the log when a test begins. */
let end: string;

beforeAll(async () => {
  server = await startMemoryServer();
  append = appending(createEventLog(server.store.client, "events"));
});
afterAll(() => server.stop());
beforeEach(async () => {
  await append([]);
  end = (await server.events.readEvents({})).cursor;
});

const ids = (events: readonly Event[]) => events.map(({ id }) => id);
const maxWait = { seconds: 30n };

type Asked = Omit<RequestOf<typeof ReadEventsRequestSchema>, "$typeName">;

/** Reads to the end of the log, page by page. */
async function readAll(request: Asked) {
  const found: string[] = [];
  let { cursor = "" } = request;
  for (;;) {
    const { startTime, ...asked } = request;
    const begin = cursor === "" && startTime ? { startTime } : { cursor };
    const page = await server.events.readEvents({ ...asked, ...begin });
    found.push(...ids(page.events));
    ({ cursor } = page);
    if (page.atEnd) return found;
  }
}

describe("a page", () => {
  test("has the events behind its cursor, in order, over batches", async () => {
    await append([used("a", 1), used("a", 2)]);
    await append([used("a", 3)]);
    const all = ["points/default/a/1", "points/default/a/2", "points/default/a/3"];
    expect(await readAll({ cursor: end })).toEqual(all);
    expect(await readAll({ cursor: end, pageSize: 1 })).toEqual(all);
    expect(await readAll({ cursor: end, pageSize: 2 })).toEqual(all);
  });

  test("is at the end only where no event follows", async () => {
    await append([used("a", 1), used("a", 2)]);
    const first = await server.events.readEvents({ cursor: end, pageSize: 1 });
    expect(first.atEnd).toBe(false);
    const second = await server.events.readEvents({ cursor: first.cursor, pageSize: 1 });
    expect(second.atEnd).toBe(true);
    const third = await server.events.readEvents({ cursor: second.cursor });
    expect(third).toMatchObject({ events: [], cursor: second.cursor, atEnd: true });
  });

  test("has the types and the program that were asked for", async () => {
    await append([
      used("a", 1),
      used("a", 1, "cafe"),
      ofNoProgram("targets/post/1/1", "target.changed"),
    ]);
    expect(await readAll({ cursor: end })).toEqual(["points/default/a/1"]);
    expect(await readAll({ cursor: end, programId: "cafe" })).toEqual(["points/cafe/a/1"]);
    expect(await readAll({ cursor: end, allPrograms: true })).toHaveLength(3);
    const types = ["target.changed"];
    expect(await readAll({ cursor: end, allPrograms: true, types })).toEqual(["targets/post/1/1"]);
  });

  test("has the texts of people only if they are asked for", async () => {
    await append([used("a", 1)]);
    const reasonAt = async (include: Personal[]) => {
      const { events } = await server.events.readEvents({ cursor: end, include });
      const { data } = events[0] as Event;
      return data.case === "entryRecorded" && data.value.entry?.reason;
    };
    expect(await reasonAt([])).toBe("");
    expect(await reasonAt([Personal.TEXT])).toBe("");
    expect(await reasonAt([Personal.REASON])).toBe("a secret");
    expect(await reasonAt([])).toBe("");
  });

  test("looks at a bounded number of events, and answers then without one", async () => {
    const many = Array.from({ length: 3_000 }, (_, i) => used("a", i + 1));
    for (let i = 0; i < 3; i += 1) await append(many);
    await append([used("b", 1)]);
    const types = ["points.issued"];
    const page = await server.events.readEvents({ cursor: end, types });
    expect(page).toMatchObject({ events: [], atEnd: false });
    expect(await readAll({ cursor: page.cursor, types })).toEqual([]);
  });

  test("has about 1 MiB at most", async () => {
    await append(Array.from({ length: 300 }, (_, i) => used("u".repeat(5_000), i + 1)));
    const { events } = await server.events.readEvents({ cursor: end, pageSize: 1_000 });
    expect(events.length).toBeGreaterThan(10);
    expect(events.length).toBeLessThan(120);
  });
});

describe("a call", () => {
  test("waits for the first event, and gets it", async () => {
    const waiting = server.events.readEvents({ cursor: end, maxWait });
    await append([used("a", 1, "cafe")]);
    await append([used("a", 7)]);
    expect(ids((await waiting).events)).toEqual(["points/default/a/7"]);
  });

  test("answers without an event when the time is over, and before its deadline", async () => {
    const short = await server.events.readEvents({ cursor: end, maxWait: { nanos: 50_000_000 } });
    expect(short).toMatchObject({ events: [], cursor: end, atEnd: true });
    const late = await server.events.readEvents({ cursor: end, maxWait }, { timeoutMs: 1_500 });
    expect(late).toMatchObject({ events: [], cursor: end, atEnd: true });
  });

  test("without a cursor begins with what comes, or at a time", async () => {
    const before = new Date(Date.now() - 3_600_000).toISOString();
    await append([used("t", 1)]);
    expect(await server.events.readEvents({})).toMatchObject({ events: [], atEnd: true });
    expect(await readAll({ startTime: at(before), pageSize: 1_000 })).toContain(
      "points/default/t/1",
    );
    expect(await readAll({ startTime: at("1970-01-01T00:00:01Z"), pageSize: 1_000 })).toContain(
      "points/default/t/1",
    );
    expect(await readAll({ startTime: at("2999-01-01T00:00:00Z") })).toEqual([]);
  });

  test.each([
    ["a cursor of another form", { cursor: "x" }, ["cursor"]],
    ["a changed cursor", { cursor: Buffer.from("1.l.01.0").toString("base64url") }, ["cursor"]],
    [
      "a cursor with a time",
      { cursor: "x", startTime: at("2026-01-01T00:00:00Z") },
      ["start_time"],
    ],
    ["a program with all", { programId: "cafe", allPrograms: true }, ["all_programs"]],
    ["an unknown type", { types: ["points.used", "point.used"] }, ["types[1]"]],
    ["a type twice", { types: ["points.used", "points.used"] }, ["types"]],
    ["no text", { include: [Personal.UNSPECIFIED] }, ["include[0]"]],
    ["a longer wait", { maxWait: { seconds: 31n } }, ["max_wait"]],
  ])("refuses %s", async (_, request, fields) => {
    expect(await refusalOf(server.events.readEvents(request))).toMatchObject({
      reason: "INVALID_REQUEST",
      fields,
    });
  });

  test("names the nearest type", async () => {
    const { message } = await refusalOf(server.events.readEvents({ types: ["point.used"] }));
    expect(message).toContain("points.used");
  });
});

describe("a cursor", () => {
  /** The cursor at the end, with another log, so many batches on, and another index. */
  function changed({ logId, on = 0, index = 0 }: Change): string {
    const [, log, number] = Buffer.from(end, "base64url").toString().split(".");
    const text = `1.${logId ?? log}.${Number(number) + on}.${index}`;
    return Buffer.from(text).toString("base64url");
  }
  type Change = { readonly logId?: string; readonly on?: number; readonly index?: number };

  test.each<[string, Change]>([
    ["of another log", { logId: "another" }],
    ["beyond the end", { on: 1 }],
    ["within a batch that is not there", { index: 1 }],
    ["behind the events of a batch", { on: -1, index: 1 }],
  ])("%s is refused", async (_, change) => {
    const cursor = changed(change);
    const refusal = await refusalOf(server.events.readEvents({ cursor }));
    expect(refusal.reason).toBe("CURSOR_EXPIRED");
    expect(Date.parse(refusal.metadata.oldest_time ?? "")).toBeGreaterThan(0);
  });

  test("of events that are older than 14 days is refused, the next one is not", async () => {
    await append([used("old", 1)], Date.now() - keptMs - 1_000);
    const number = await append([used("old", 2)], Date.now() - keptMs + 60_000);
    expect(await reasonOf(server.events.readEvents({ cursor: end }))).toBe("CURSOR_EXPIRED");
    const [, log] = Buffer.from(end, "base64url").toString().split(".");
    const cursor = Buffer.from(`1.${log}.${number}.0`).toString("base64url");
    expect(await readAll({ cursor })).toEqual(["points/default/old/2"]);
  });
});

describe("a stream", () => {
  /** Opens a stream that the test reads message by message. */
  function watch(request: Parameters<MemoryServer["events"]["watchEvents"]>[0]) {
    const leaving = new AbortController();
    const iterator = server.events.watchEvents(request, leaving)[Symbol.asyncIterator]();
    return {
      next: async () => (await iterator.next()).value as WatchEventsResponse,
      leave: () => leaving.abort(),
    };
  }

  test("begins with a cursor, and sends events as they come", async () => {
    const stream = watch({ cursor: end });
    expect(await stream.next()).toMatchObject({ events: [], cursor: end });
    await append([used("a", 1), used("b", 1, "cafe")]);
    const { events, cursor } = await stream.next();
    expect(ids(events)).toEqual(["points/default/a/1"]);
    await append([used("a", 2)]);
    expect(ids((await stream.next()).events)).toEqual(["points/default/a/2"]);
    stream.leave();
    expect(await readAll({ cursor })).toEqual(["points/default/a/2"]);
  });

  test("is refused with an expired cursor", async () => {
    const cursor = Buffer.from("1.another.1.0").toString("base64url");
    expect(await reasonOf(watch({ cursor }).next())).toBe("CURSOR_EXPIRED");
  });

  test("ends with the server, and the calls that wait are answered", async () => {
    const another = await startMemoryServer();
    await appending(createEventLog(another.store.client, "events"))([]);
    const waiting = another.events.readEvents({ maxWait });
    const messages: WatchEventsResponse[] = [];
    const ended = (async () => {
      for await (const message of another.events.watchEvents({})) messages.push(message);
    })();
    await another.events.readEvents({});
    another.deps.eventStreams.drain(0);
    expect(await waiting).toMatchObject({ events: [], atEnd: true });
    await ended;
    const last = messages.at(-1)?.end;
    expect(last?.cause).toBe(Cause.DRAINING);
    expect(last?.reopenDelay && durationMs(last.reopenDelay)).toBeGreaterThan(0);
    await another.stop();
  });
});
