/** Tests that an act is written with its change or not at all, and how acts are listed. */
import { describe, expect, inject, test } from "vitest";
import { type Act, fieldChanges } from "../../../src/acts/rules/act.ts";
import { listActs, putAct } from "../../../src/acts/use-cases/acts.ts";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { asService, type Caller } from "../../../src/platform/words/caller.ts";
import { byteLength } from "../../../src/platform/words/display-text.ts";
import {
  freezeAccount,
  grantPoints,
  unfreezeAccount,
} from "../../../src/points/use-cases/commands.ts";
import { createProgram, updateProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { at } from "../../support/servers/refusal.ts";
import { startServer } from "../../support/servers/server.ts";
import { changeItem } from "../../support/stores/change-item.ts";
import { type Fault, type MemoryDeps, memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "p";
const caller = asService("ops");
const audit = (requestId: string, by: Caller = caller) =>
  ({ caller: by, via: "CALL", method: "UpdateProgram", requestId }) as const;

async function openStore(): Promise<MemoryDeps> {
  const memory = memoryDeps();
  const program = { programId, timeZone: "UTC", lifetimeMonths: 12 };
  await createProgram(memory.deps, program);
  return memory;
}

/** The names of the acts that a store has. */
const storedActs = ({ store }: MemoryDeps) =>
  store.stored().filter(({ ref }) => ref.kind === "act");

const update = ({ deps }: MemoryDeps, requestId: string, lifetimeMonths: number) =>
  updateProgram(deps, {
    ...{ programId, caller, rules: { lifetimeMonths }, audit: audit(requestId) },
  });

describe("an act", () => {
  test.each<Fault>(["conflict", "lost before", "lost after"])(
    "is written once though the first transaction ends with: %s",
    async (fault) => {
      const memory = await openStore();
      let faults = 1;
      memory.store.arriving = ({ op }) => (op === "commit" && faults-- > 0 ? fault : undefined);
      await update(memory, "r1", 24);
      expect(storedActs(memory)).toHaveLength(1);
    },
  );

  test("is not written by a transaction that is never committed", async () => {
    const memory = await openStore();
    memory.store.arriving = ({ op }) => (op === "commit" ? "throttled" : undefined);
    const call = { programId, caller, rules: { lifetimeMonths: 24 }, audit: audit("r1") };
    const late = { ...call, deadline: performance.now() + 100 };
    await expect(updateProgram(memory.deps, late)).rejects.toMatchObject({ retryable: true });
    memory.store.arriving = undefined;
    expect(storedActs(memory)).toEqual([]);
  });

  test("is in the transaction of its change", async () => {
    const memory = await openStore();
    const commits: string[][] = [];
    memory.store.arriving = ({ op, writes }) => {
      if (op === "commit") commits.push(writes.map(({ ref }) => ref.kind));
      return undefined;
    };
    await update(memory, "r1", 24);
    expect(commits).toEqual([["ruleChange", "act", "program"]]);
  });

  test("is written by each call of a batch, and by none that only validates", async () => {
    const memory = await openStore();
    const freeze = (i: number, validateOnly = false) => {
      const event = { programId, userId: "u", eventId: `f${i}`, reason: "", caller };
      return freezeAccount(memory.deps, { ...event, validateOnly, audit: audit(`r${i}`) });
    };
    await freeze(100, true);
    expect(storedActs(memory)).toEqual([]);
    await Promise.all(Array.from({ length: 30 }, (_, i) => freeze(i)));
    expect(storedActs(memory)).toHaveLength(30);
  });

  test("is written by the audited calls alone of a batch that has others", async () => {
    const memory = await openStore();
    const event = { programId, userId: "u", reason: "", caller };
    const commits: number[] = [];
    memory.store.arriving = ({ op, writes }) => {
      const acts = writes.filter(({ ref }) => ref.kind === "act");
      if (op === "commit") commits.push(acts.length);
      return undefined;
    };
    await Promise.all([
      grantPoints(memory.deps, { ...event, eventId: "alone", points: 5 }),
      grantPoints(memory.deps, { ...event, eventId: "g", points: 5 }),
      freezeAccount(memory.deps, { ...event, eventId: "f", audit: audit("r1") }),
      unfreezeAccount(memory.deps, { ...event, eventId: "u", audit: audit("r2") }),
    ]);
    expect(commits).toEqual([0, 2]);
    const written = storedActs(memory).map(({ value }) => (value as Act).requestId);
    expect(written.toSorted()).toEqual(["r1", "r2"]);
  });

  test.each<Fault>(["conflict", "lost before", "lost after"])(
    "is written once by each call of a batch that ends with: %s",
    async (fault) => {
      const memory = await openStore();
      const event = { programId, userId: "u", reason: "", caller };
      let commits = 0;
      // The first transaction has one call, and the second one all others.
      memory.store.arriving = ({ op }) => (op === "commit" && ++commits === 2 ? fault : undefined);
      const calls = Array.from({ length: 12 }, (_, i) => {
        const call = { ...event, eventId: `e${i}`, audit: audit(`r${i}`) };
        return i % 2 ? unfreezeAccount(memory.deps, call) : freezeAccount(memory.deps, call);
      });
      await Promise.all(calls);
      expect(commits).toBeGreaterThan(2);
      const written = storedActs(memory).map(({ value }) => (value as Act).requestId);
      expect(written.toSorted()).toEqual(calls.map((_, i) => `r${i}`).toSorted());
    },
  );

  test("is not written by a call that is not audited", async () => {
    const memory = await openStore();
    const event = { programId, userId: "u", eventId: "g", reason: "", caller };
    memory.store.resetStats();
    await grantPoints(memory.deps, { ...event, points: 5 });
    expect(memory.store.stats.writtenItems).toBe(3);
    expect(storedActs(memory)).toEqual([]);
  });
});

test("the fields of a change are bounded in their number and their texts", () => {
  const after = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [`f${i}`, "あ".repeat(99)]),
  );
  const changes = fieldChanges({ f0: "あ".repeat(99), f1: 7 }, after);
  expect(changes).toHaveLength(8);
  expect(changes[0]).toEqual({ field: "f1", before: "7", after: "あ".repeat(42) });
  expect(fieldChanges({ a: 1, b: "x" }, { a: 1, b: undefined })).toEqual([
    { field: "b", before: "x", after: "" },
  ]);
});

test.each([
  ["x", "y", "…x", "…y"],
  ["", "😀", "…", "…😀"],
  ["y", "", "…y", "…"],
  ["😀", "😁", "…😀", "…😁"],
])("texts that differ behind the cut begin at the difference: %j, %j", (a, b, before, after) => {
  const same = "あ".repeat(99);
  expect(fieldChanges({ f: same + a }, { f: same + b })).toEqual([{ field: "f", before, after }]);
});

describe("a list", () => {
  const day = 86_400_000;
  const start = Date.UTC(2026, 0, 1);
  /** Acts at these hours after `start`, by two subjects in turn, about two users and none. */
  async function openActs(hours: readonly number[]): Promise<MemoryDeps> {
    const memory = await openStore();
    for (const [i, hour] of hours.entries()) {
      const time = start + hour * 3_600_000;
      const by = { service: "desk", subject: ["Ann", "ben", "ann", "Ben"][i % 4] ?? "" };
      const object = { programId, objectType: "program", objectId: programId } as const;
      const userId = ["u1", "u2", undefined][i % 3];
      const changed = { ...object, userId, changes: [], reason: String(hour) };
      await memory.deps.engine.transact({
        key: { kind: "program", id: programId },
        readSet: [],
        expectAbsent: [],
        call: undefined,
        decide: (tx) => putAct(tx, { audit: audit(`r${i}`, by) }, time, changed),
      });
    }
    memory.clock.time = start + 60 * day;
    return memory;
  }

  const hoursOf = async (
    { deps }: MemoryDeps,
    filter: { subject?: string; userId?: string; start?: number; end?: number },
    size = 100,
  ) => {
    const { subject, userId, ...window } = { start, end: undefined, ...filter };
    const listed = { programId, subject, userId, window };
    const items = await allItems((page) => listActs(deps, listed, page), size);
    return items.map(({ reason }) => Number(reason));
  };

  test.each([1, 2, 3, 100])(
    "has all acts of its window, the newest first, %i a page",
    async (size) => {
      const hours = [0, 1, 23, 24, 25, 70, 1_000, 1_001];
      const memory = await openActs(hours);
      expect(await hoursOf(memory, {}, size)).toEqual(hours.toReversed());
      const window = { start: start + 3_600_000, end: start + 70 * 3_600_000 };
      expect(await hoursOf(memory, window, size)).toEqual([25, 24, 23, 1]);
      expect(await hoursOf(memory, { ...window, subject: "ann" }, size)).toEqual([25, 23]);
      expect(await hoursOf(memory, { subject: " BEN" }, size)).toEqual([1_001, 70, 24, 1]);
      expect(await hoursOf(memory, { subject: "cho" }, size)).toEqual([]);
      expect(await hoursOf(memory, { end: start }, size)).toEqual([]);
      expect(await hoursOf(memory, { userId: "u1" }, size)).toEqual([1_000, 24, 0]);
      expect(await hoursOf(memory, { ...window, userId: "u2" }, size)).toEqual([25, 1]);
      expect(await hoursOf(memory, { userId: "u2", subject: "ANN" }, size)).toEqual([25]);
      expect(await hoursOf(memory, { userId: "u1", subject: "ANN" }, size)).toEqual([1_000, 0]);
      expect(await hoursOf(memory, { userId: "U1" }, size)).toEqual([]);
    },
  );

  test.each([
    ["that lacks its method", ({ m: _, ...item }: Item) => item],
    ["whose changes are no list", (item: Item) => ({ ...item, c: { S: "NEWER" } })],
    ["with a change that lacks a value", (item: Item) => ({ ...item, c: { L: [{ L: [] }] } })],
  ])("names an act %s, and has all others", async (_, damage) => {
    const memory = await openActs([0, 1, 2]);
    const [pk, sk] = ["p#2026-01-01", `00${start + 3_600_000}#r1`];
    await changeItem(memory.store.client, "acts", { pk: { S: pk }, sk: { S: sk } }, damage);
    const filter = { programId, window: { start, end: undefined } };
    for (const size of [1, 2, 100]) {
      const unreadable: string[] = [];
      const items = await allItems(async (page) => {
        const found = await listActs(memory.deps, filter, page);
        unreadable.push(...found.unreadable);
        return found;
      }, size);
      expect(items.map(({ reason }) => reason)).toEqual(["2", "0"]);
      expect(unreadable).toEqual([`${pk} ${sk}`]);
    }
  });

  test("reads no days that are still to come, however late its window ends", async () => {
    const memory = await openActs([58 * 24, 59 * 24]);
    const window = { start: start + 40 * day, end: start + 9_999 * day };
    const page = { size: 10, cursor: undefined };
    const found = await listActs(memory.deps, { programId, subject: undefined, window }, page);
    expect(found.items).toHaveLength(2);
    expect(found.cursor).toBeUndefined();
  });

  test("ends a page after 31 days, and goes on from there", async () => {
    const { deps } = await openActs([5]);
    const list = (cursor: string | undefined) =>
      listActs(
        deps,
        { programId, subject: undefined, window: { start, end: undefined } },
        { size: 10, cursor },
      );
    const first = await list(undefined);
    expect(first.items).toEqual([]);
    const second = await list(first.cursor);
    expect(second.items).toHaveLength(1);
    expect(second.cursor).toBeUndefined();
    await expect(list("next")).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
  });
});

test("the page token of a list by the longest name is one that a request may have", async () => {
  const memory = await openStore();
  const name = "\ufdfa".repeat(42);
  for (const requestId of ["r1", "r2"]) {
    const by = audit(requestId, { service: "temporal", subject: name });
    const reservationShardCount = requestId === "r1" ? 64 : 256;
    await updateProgram(memory.deps, { programId, caller, reservationShardCount, audit: by });
  }
  const filter = { programId, subject: name, window: { start: 0, end: undefined } };
  const first = await listActs(memory.deps, filter, { size: 1, cursor: undefined });
  expect(first.items).toHaveLength(1);
  expect(byteLength(first.cursor ?? "")).toBeLessThan(500);
  const rest = await listActs(memory.deps, filter, { size: 5, cursor: first.cursor });
  expect(rest.items).toHaveLength(1);
});

test("DynamoDB stores acts, and lists them by day, by subject and by user", async () => {
  const server = await startServer({ dynamoEndpoint: inject("dynamodbEndpoint") });
  const desk = server.clientsOf("desk");
  await desk.programs.updateProgram({ program: { programId: "default", lifetimeMonths: 20 } });
  const account = { userId: "u", eventId: "f", reason: "asked" };
  await server.points.freezeAccount(account);
  await server.points.freezeAccount(account);
  const createTimeFrom = at("2026-01-01T00:00:00Z");
  const listOf = async () => {
    const window = { createTimeFrom, createTimeBefore: at("2026-01-02T00:00:00Z") };
    const { acts } = await server.acts.listActs(window);
    return acts.map(({ method }) => method);
  };
  expect(await listOf()).toEqual([]);
  const recent = { createTimeFrom: at(new Date(Date.now() - 3_600_000).toISOString()) };
  const all = (await server.acts.listActs(recent)).acts;
  expect(all.map(({ method }) => method)).toEqual(["FreezeAccount", "UpdateProgram"]);
  const byDesk = await server.acts.listActs({ ...recent, subject: "desk" });
  expect(byDesk.acts).toEqual(all.slice(1));
  const aboutUser = await server.acts.listActs({ ...recent, userId: "u" });
  expect(aboutUser.acts).toEqual(all.slice(0, 1));
  const byDeskAboutUser = await server.acts.listActs({ ...recent, userId: "u", subject: "desk" });
  expect(byDeskAboutUser.acts).toEqual([]);
  await server.stop();
});
