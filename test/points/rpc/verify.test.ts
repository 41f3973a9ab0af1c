/** Tests that VerifyAccount finds every difference and repairs the account from its ledger. */

import { type AttributeValue, DeleteItemCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as messages from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramJob_State as State } from "../../../src/gen/meguri/points/v1/program_job_pb.ts";
import type { Table } from "../../../src/platform/dynamodb/tables.ts";
import { allResponses } from "../../support/fixtures/pages.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";
import { changeItem } from "../../support/stores/change-item.ts";

const { ListLedgerEntriesRequest_Order: Order } = messages;

type Item = Record<string, AttributeValue>;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.clock.setTime({ time: at("2026-05-10T00:00:00Z") });
});
afterAll(() => server.stop());

let users = 0;

/** An account with an event `e1` of the first number of points and so on; below 0 it is a use. */
async function newAccount(changes: readonly number[] = [100, -30, 20]) {
  const userId = `user-${++users}`;
  const { points, dynamo } = server;
  for (const [i, change] of changes.entries()) {
    const request = { userId, eventId: `e${i + 1}`, points: BigInt(Math.abs(change)) };
    await (change > 0 ? points.grantPoints(request) : points.usePoints(request));
  }
  const tableOf = (sk?: AttributeValue) => server.table(sk?.S === "A" ? "accounts" : "points");
  const pk = { S: `A#default#${userId}` };
  const keyOf = (sk: string) => ({ pk, sk: { S: sk } });
  const eventKey = (event: string) => ({
    pk: { S: `K#default#${userId}#${event}` },
    sk: { S: "K" },
  });
  const set = (key: Item, path: string, value: AttributeValue) =>
    changeItem(dynamo, tableOf(key.sk), key, (item) => {
      const [, name = "", index] = /^(\w+)(?:\[(\d+)\])?$/.exec(path) ?? [];
      if (index === undefined) return { ...item, [name]: value };
      return { ...item, [name]: { L: item[name]?.L?.with(Number(index), value) ?? [] } };
    });
  const remove = (Key: Item) =>
    dynamo.send(new DeleteItemCommand({ TableName: tableOf(Key.sk), Key }));
  return {
    userId,
    /** Writes one attribute of an item without the server. */
    tamper: (sk: string, path: string, value: AttributeValue) => set(keyOf(sk), path, value),
    tamperKey: (event: string, path: string, value: AttributeValue) =>
      set(eventKey(event), path, value),
    /** Removes one attribute of the item of the account without the server. */
    removeAttribute: (name: string) =>
      changeItem(dynamo, server.table("accounts"), keyOf("A"), ({ [name]: _, ...item }) => item),
    remove: (sk: string) => remove(keyOf(sk)),
    removeKey: (event: string) => remove(eventKey(event)),
    /** The items of the account and its ledger. */
    async dump() {
      const read = (table: Table) =>
        dynamo.send(
          new QueryCommand({
            TableName: server.table(table),
            KeyConditionExpression: "pk = :a",
            ExpressionAttributeValues: { ":a": pk },
          }),
        );
      const found = await Promise.all([read("accounts"), read("points")]);
      return found.flatMap(({ Items = [] }) => Items);
    },
    async verify(repair = false) {
      const found = await points.verifyAccount({ userId, repair });
      const lines = found.differences.map(
        ({ field, expected, actual }) => `${field}: ${expected}, not ${actual}`,
      );
      return {
        lines: lines.sort(),
        entries: Number(found.entryCount),
        repaired: found.repaired,
        restored: found.restoredEntryNumbers.map(Number),
      };
    },
    available: async () => Number((await points.getBalance({ userId })).balance?.availablePoints),
  };
}

/** The result of `verify` for an account with three entries. */
const found = (lines: string[], more: object = {}) => ({
  lines,
  entries: 3,
  repaired: false,
  restored: [],
  ...more,
});

/** The fifth month's slot in a ring of twelve. */
const slot = (12 * 2026 + 4) % 12;

test("an undamaged account has no differences, and repairing it changes nothing", async () => {
  const { userId, verify } = await newAccount();
  expect(await verify()).toEqual(found([]));
  expect(await verify(true)).toEqual(found([]));
  expect((await server.points.getBalance({ userId })).balance?.version).toBe(3n);
});

test("a wrong snapshot is reported and removed, and the account stays as it is", async () => {
  const { tamper, verify, userId } = await newAccount();
  const totals = [1, 0, 0, 0, 0].map((points) => ({ N: String(points) }));
  await tamper("L#000000000003", "st", { L: totals });
  const right = "2026-05: 90, issuedPoints: 120, usedPoints: 30";
  const lines = [`entries[3].snapshot: ${right}, not issuedPoints: 1`];
  expect(await verify()).toEqual(found(lines));
  expect(await verify(true)).toEqual(found(lines, { repaired: true }));
  expect(await verify(true)).toEqual(found([]));
  expect((await server.points.getBalance({ userId })).balance?.version).toBe(3n);
});

test("wrong points, totals and flag are reported and repaired", async () => {
  const { tamper, verify, available, userId } = await newAccount();
  await tamper("A", `s[${slot}]`, { N: "1000" });
  await tamper("A", "T[1]", { N: "31" });
  await tamper("A", "f", { BOOL: true });
  const lines = [
    "available_points: 90, not 1000",
    "buckets[2026-05]: 90, not 1000",
    "frozen: false, not true",
    "totals.used_points: 30, not 31",
  ];
  expect(await verify()).toEqual(found(lines));
  expect(await available()).toBe(1000);
  expect(await verify(true)).toEqual(found(lines, { repaired: true }));
  expect(await available()).toBe(90);
  expect(await verify()).toEqual(found([]));
  const next = await server.points.usePoints({ userId, eventId: "u2", points: 90n });
  expect([next.entry?.number, next.availablePoints]).toEqual([4n, 0n]);
});

test.each([2, 7])("a last number of %i is reported and repaired", async (number) => {
  const { tamper, verify } = await newAccount();
  await tamper("A", "n", { N: String(number) });
  const lines = [`last: 3, not ${number}`];
  expect(await verify(true)).toEqual(found(lines, { repaired: true }));
  expect(await verify()).toEqual(found([]));
});

test("a ring longer than the program's is reported and repaired", async () => {
  const { tamper, verify, available } = await newAccount();
  const ring = Array.from({ length: 13 }, (_, i) => ({
    N: i === (12 * 2026 + 4) % 13 ? "90" : "0",
  }));
  await tamper("A", "s", { L: ring });
  expect(await verify(true)).toEqual(found(["lifetime: 12, not 13"], { repaired: true }));
  expect(await verify()).toEqual(found([]));
  expect(await available()).toBe(90);
});

test("an account that is gone is rebuilt", async () => {
  const { remove, verify, available, userId } = await newAccount();
  await remove("A");
  expect(await available()).toBe(0);
  expect(await verify()).toEqual(found(["last: 3, not 0"]));
  expect((await verify(true)).repaired).toBe(true);
  expect(await available()).toBe(90);
  expect(await verify()).toEqual(found([]));
  const again = await server.points.grantPoints({ userId, eventId: "e1", points: 100n });
  expect(again.replayed).toBe(true);
});

test.each(["m", "s", "T", "n", "t"])(
  "an account without the attribute %s is reported and repaired",
  async (attribute) => {
    const { removeAttribute, verify, available, dump } = await newAccount();
    const [whole] = await dump();
    await removeAttribute(attribute);
    await expect(available()).rejects.toThrow("internal error");
    const { lines } = await verify();
    expect(lines).not.toEqual([]);
    expect(await verify(true)).toEqual(found(lines, { repaired: true }));
    expect(await dump()).toContainEqual({ ...whole, v: { N: "4" } });
    expect(await verify()).toEqual(found([]));
    expect(await available()).toBe(90);
  },
);

test("a missing entry is restored from its event key: 1,070 stay 1,070", async () => {
  const { points } = server;
  const { remove, verify, available, dump, userId } = await newAccount([100, 1_000, -30]);
  const whole = await dump();
  await remove("L#000000000002");
  const lines = [
    "available_points: 70, not 1070",
    "buckets[2026-05]: 70, not 1070",
    "entries[3].available_points: 70, not 1070",
    "entries[3].number: 2, not 3",
    "totals.issued_points: 100, not 1100",
  ];
  expect(await verify()).toEqual(found(lines, { entries: 2 }));
  expect(await verify(true)).toEqual(found(lines, { entries: 2, restored: [2] }));
  expect(await verify()).toEqual(found([]));
  expect(await available()).toBe(1_070);
  expect(await dump()).toEqual(whole);
  const listed = await points.listLedgerEntries({ userId, order: Order.OLDEST_FIRST });
  expect(listed.entries.map(({ number }) => number)).toEqual([1n, 2n, 3n]);
});

test("the last entry and all entries are restored as well", async () => {
  const last = await newAccount([100, 1_000, -30]);
  const all = await newAccount([100, 1_000, -30]);
  const whole = [await last.dump(), await all.dump()];
  await last.remove("L#000000000003");
  for (const number of [1, 2, 3]) await all.remove(`L#00000000000${number}`);
  expect(await last.verify(true)).toMatchObject({ repaired: false, restored: [3] });
  expect(await all.verify(true)).toMatchObject({ repaired: false, restored: [1, 2, 3] });
  expect(await last.dump()).toEqual(whole[0]);
  expect((await all.verify()).lines).toEqual([]);
  expect(await all.available()).toBe(1_070);
});

describe("a ledger that is itself damaged leaves its account as it is", () => {
  const entry = (number: number) => `L#${String(number).padStart(12, "0")}`;
  type TestAccount = Awaited<ReturnType<typeof newAccount>>;

  test.each<[string, (account: TestAccount) => Promise<unknown>, string[], object]>([
    [
      "a missing entry without its event key",
      async ({ remove, removeKey }) => [await remove(entry(2)), await removeKey("c:e2")],
      [
        "available_points: 70, not 1070",
        "buckets[2026-05]: 70, not 1070",
        "entries[3].available_points: 70, not 1070",
        "entries[3].number: 2, not 3",
        "totals.issued_points: 100, not 1100",
      ],
      { missing_entry_numbers: "2", faults: "entries[3].number, entries[3].available_points" },
    ],
    [
      "a missing entry whose event key has other points",
      async ({ remove, tamperKey }) => [
        await remove(entry(2)),
        await tamperKey("c:e2", "p", { N: "999" }),
        await tamperKey("c:e2", "c[1]", { N: "999" }),
      ],
      [
        "available_points: 70, not 1070",
        "buckets[2026-05]: 70, not 1070",
        "entries[3].available_points: 70, not 1070",
        "entries[3].number: 2, not 3",
        "totals.issued_points: 100, not 1100",
      ],
      { missing_entry_numbers: "2" },
    ],
    [
      "a changed balance in an entry",
      ({ tamper }) => tamper(entry(2), "b", { N: "1101" }),
      ["entries[2].available_points: 1100, not 1101"],
      { missing_entry_numbers: "", faults: "entries[2].available_points", fault_count: "1" },
    ],
  ])("%s", async (_, damage, lines, metadata) => {
    const account = await newAccount([100, 1_000, -30]);
    await damage(account);
    const damaged = await account.dump();
    expect((await account.verify()).lines).toEqual(lines);
    expect(await refusalOf(account.verify(true))).toMatchObject({
      code: "DataLoss",
      reason: "LEDGER_DAMAGED",
      metadata,
      retries: false,
    });
    expect(await account.dump()).toEqual(damaged);
    expect(await account.available()).toBe(1_070);
  });
});

describe("of packed entries", () => {
  /** An account with packed entries, because many calls wait for it at once. */
  async function newPackedAccount() {
    const account = await newAccount([1]);
    const { userId, dump } = account;
    const calls = Array.from({ length: 40 }, (_, i) =>
      server.points.grantPoints({ userId, eventId: `p${i}`, points: 10n, reason: "packed" }),
    );
    await Promise.all(calls);
    const items = (await dump()).filter(({ l }) => (l?.L?.length ?? 0) >= 3);
    expect(items.length).toBeGreaterThan(0);
    const packed = items[0] as Item;
    const first = Number(packed.sk?.S?.slice(2));
    const last = first + (packed.l?.L?.length ?? 0);
    const sk = packed.sk?.S as string;
    const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    return { ...account, sk, packed, numbers };
  }

  /** Reads each entry by its number, and all entries in small pages, in both orders. */
  async function expectWhole(userId: string): Promise<void> {
    const { points } = server;
    const all = Array.from({ length: 41 }, (_, i) => BigInt(i + 1));
    for (const value of all) {
      const { entry } = await points.getLedgerEntry({ userId, key: { case: "number", value } });
      expect(entry?.number).toBe(value);
    }
    for (const order of [Order.OLDEST_FIRST, Order.NEWEST_FIRST]) {
      const pages = await allResponses((pageToken) =>
        points.listLedgerEntries({ userId, order, pageSize: 3, pageToken }),
      );
      const found = pages.flatMap(({ entries }) => entries.map(({ number }) => number));
      expect(found).toEqual(order === Order.OLDEST_FIRST ? all : all.toReversed());
    }
  }

  test("a missing item is restored with all its entries", async () => {
    const { remove, verify, available, userId, sk, numbers } = await newPackedAccount();
    await remove(sk);
    expect(await verify(true)).toMatchObject({ repaired: false, restored: numbers });
    expect((await verify()).lines).toEqual([]);
    expect(await available()).toBe(401);
    await expectWhole(userId);
  });

  test("missing entries at the end of an item's list get another item", async () => {
    const { tamper, verify, available, dump, userId, sk, packed, numbers } =
      await newPackedAccount();
    const list = packed.l?.L as AttributeValue[];
    await tamper(sk, "l", { L: list.slice(0, -2) });
    const before = (await dump()).find((item) => item.sk?.S === sk);
    expect(await verify(true)).toMatchObject({ repaired: false, restored: numbers.slice(-2) });
    expect((await dump()).find((item) => item.sk?.S === sk)).toEqual(before);
    expect((await verify()).lines).toEqual([]);
    expect(await available()).toBe(401);
    await expectWhole(userId);
  });

  test("an entry missing inside a list moves the later ones: nothing is restored", async () => {
    const { tamper, verify, available, dump, sk, packed } = await newPackedAccount();
    const list = packed.l?.L as AttributeValue[];
    await tamper(sk, "l", { L: list.slice(1) });
    const damaged = await dump();
    expect(await refusalOf(verify(true))).toMatchObject({ reason: "LEDGER_DAMAGED" });
    expect(await dump()).toEqual(damaged);
    expect(await available()).toBe(401);
  });
});

test("the verification of a program starts, and can be read and listed", async () => {
  const { points, workflows } = server;
  const none = points.getProgramVerification({ jobId: "v" });
  expect(await refusalOf(none)).toMatchObject({ code: "NotFound", reason: "JOB_NOT_FOUND" });
  const { verification, replayed } = await points.verifyProgram({ jobId: "v" });
  expect(replayed).toBe(false);
  const workflowId = "verify-program/default/v";
  const job = { programId: "default", jobId: "v", state: State.RUNNING, workflowId };
  expect(verification).toMatchObject({ job, repair: false });
  expect(workflows.calls).toContain("startJob verify-program default v");
  expect(await points.verifyProgram({ jobId: "v" })).toMatchObject({
    verification,
    replayed: true,
  });
  const repair = points.verifyProgram({ jobId: "v", repair: true });
  expect(await refusalOf(repair)).toMatchObject({ reason: "ID_REUSED" });
  await points.verifyProgram({ jobId: "w", repair: true });
  // The ids of each kind are of their own.
  await points.createLiabilityReport({ jobId: "v" });
  const { verifications } = await points.listProgramVerifications({});
  expect(verifications.map((each) => [each.job?.jobId, each.repair])).toEqual([
    ["v", false],
    ["w", true],
  ]);
  expect((await points.getProgramVerification({ jobId: "v" })).verification).toEqual(verification);
});
