/** Tests which events callers with limits may read. */
import { type Event, Personal, type WatchEventsResponse } from "@meguri/client/events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import type { Identity } from "../../../src/platform/ports/identity.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { appending, ofNoProgram, used } from "../../support/fixtures/event-log.ts";
import { eventsByType } from "../../support/fixtures/events.ts";
import { refusalOf, toRefusal } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
let append: ReturnType<typeof appending>;
/** What the caller may do now. */
let identity: Identity;
/** The cursor before the events. */
let cursor: string;

const caller = asService("tests");
const all: Identity = { caller, scopes: "all" };
const target = ofNoProgram("targets/post/1/1", "target.changed");

beforeAll(async () => {
  identity = all;
  server = await startServer({ authenticate: () => identity });
  append = appending(createEventLog(server.dynamo, server.table("events")));
  await append([]);
  ({ cursor } = await server.events.readEvents({}));
  await append([used("a", 1), used("b", 1, "cafe"), target]);
});
afterAll(() => server.stop());

type Request = {
  readonly programId?: string;
  readonly allPrograms?: true;
  readonly types?: string[];
  readonly include?: Personal[];
};

const read = async (limits: Partial<Identity>, request: Request = {}): Promise<string[]> => {
  identity = { ...all, ...limits };
  const { events } = await server.events.readEvents({ ...request, cursor });
  return ids(events);
};
const ids = (events: readonly Event[]) => events.map(({ id }) => id);

const cafe = { programIds: new Set(["cafe"]) };
const points = { eventTypes: ["points."] };

test("a caller without limits reads all", async () => {
  expect(await read({}, { allPrograms: true })).toHaveLength(3);
});

test("a caller reads the events of its programs", async () => {
  expect(await read(cafe, { programId: "cafe" })).toEqual(["points/cafe/b/1"]);
});

test("texts of people take a scope of their own", async () => {
  const include = [Personal.REASON];
  const scopes = new Set(["events.read"]);
  expect(await read({ scopes })).toContain("points/default/a/1");
  expect(await refusalOf(read({ scopes }, { include }))).toMatchObject({
    reason: "PERMISSION_DENIED",
    metadata: { scope: "events.personal" },
  });
  const both = new Set(["events.read", "events.personal"]);
  expect(await read({ scopes: both }, { include })).toContain("points/default/a/1");
});

test("a caller reads the types that it may, also without naming them", async () => {
  expect(await read(points, { allPrograms: true })).toHaveLength(2);
  expect(await read({ eventTypes: ["target.changed"] }, { allPrograms: true })).toEqual([
    target.id,
  ]);
  expect(await read(points, { types: ["points.used"] })).toEqual(["points/default/a/1"]);
});

test.each<[string, Partial<Identity>, Request, string]>([
  ["another program", cafe, {}, "program_id"],
  ["all programs", { ownerPrefixes: ["shop-"] }, { allPrograms: true }, "all_programs"],
  ["all programs, by a limit of programs", cafe, { allPrograms: true }, "program_id"],
  [
    "all programs, by a limit of the default one",
    { programIds: new Set(["default"]) },
    { allPrograms: true },
    "all_programs",
  ],
  [
    "all programs, by a limit of actors",
    { actorPrefixes: ["member-"] },
    { allPrograms: true },
    "all_programs",
  ],
  ["another type", points, { types: ["hold.created"] }, "types"],
  ["a part of a type", { eventTypes: ["points.use"] }, { types: ["points.used"] }, "types"],
  ["no type", { eventTypes: [] }, {}, "types"],
])("a caller is refused %s", async (_, limits, request, field) => {
  expect(await refusalOf(read(limits, request))).toMatchObject({
    reason: "PERMISSION_DENIED",
    metadata: { field },
  });
});

test("a caller without the scope is refused", async () => {
  expect(await refusalOf(read({ scopes: new Set(["points.read"]) }))).toMatchObject({
    reason: "PERMISSION_DENIED",
    metadata: { scope: "events.read" },
  });
});

describe("a stream", () => {
  const open = (request: Request) =>
    server.events.watchEvents({ ...request, cursor })[Symbol.asyncIterator]();

  test("goes on with the types that its caller may still read", async () => {
    identity = all;
    const stream = open({ allPrograms: true });
    const first = (await stream.next()).value as WatchEventsResponse;
    expect(first.events).toHaveLength(3);
    identity = { ...all, eventTypes: ["target."] };
    // The limits apply within two seconds, and until then the events of points come, too.
    const seen: string[] = [];
    for (let number = 2; seen.at(-1) !== target.id || seen.length > 1; number += 1) {
      await append([used("a", number), target]);
      const { value } = await stream.next();
      seen.splice(0, seen.length, ...ids((value as WatchEventsResponse).events));
    }
    await stream.return?.();
  });

  test.each<[string, Request, Partial<Identity>]>([
    ["a type that it has named", { types: ["points.used"] }, { eventTypes: ["target."] }],
    [
      "the scope of the texts that it gets",
      { include: [Personal.REASON] },
      { scopes: new Set(["events.read"]) },
    ],
  ])("ends when its caller loses %s", async (_, request, limits) => {
    identity = all;
    const stream = open(request);
    await stream.next();
    identity = { ...all, ...limits };
    const ended = (async () => {
      for (;;) if ((await stream.next()).done) return;
    })();
    const error = await ended.catch((thrown: unknown) => thrown);
    expect(toRefusal(error)).toMatchObject({ reason: "PERMISSION_DENIED" });
  });
});

test("a caller with limits hears of gaps, and not of what belongs to no program", async () => {
  const types = ["events.gap_found", "events.change_unreadable", "events.gap_closed"] as const;
  const about = types.map((type) => eventsByType.get(type) as Event);
  const owners = { ownerPrefixes: ["shop-"] };
  identity = all;
  ({ cursor } = await server.events.readEvents({}));
  await append([...about, target]);
  const gaps = [about[0]?.id, about[2]?.id];
  for (const limits of [cafe, { ...cafe, ...owners }, { ...cafe, actorPrefixes: ["member-"] }]) {
    expect(await read(limits, { programId: "cafe" })).toEqual(gaps);
  }
  expect(await read(owners)).toEqual(gaps);
  expect(await read(points, { allPrograms: true })).toEqual([]);
});
