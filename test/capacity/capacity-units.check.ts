/** Measures what calls cost and store, and compares it with the constants of the formulas. */
import { setTimeout as sleep } from "node:timers/promises";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { createActivities } from "../../activities/index.ts";
import { type Item, projection, type TableModel, tableModel } from "../../bench/capacity.ts";
import { createMeter, type Meter, type Usage } from "../../bench/meter.ts";
import { readStored } from "../../bench/report/stored.ts";
import { registerTarget } from "../../src/feed/use-cases/reactions/targets.ts";
import { ExpiredPointsPolicy } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { tableDefinitions } from "../../src/ops/tables/definitions.ts";
import { itemSize } from "../../src/platform/dynamodb/sdk/item-size.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import type { Clock } from "../../src/platform/ports/clock.ts";
import { changeRecord } from "../../src/platform/work/change-record.ts";
import { shardCount } from "../../src/points/contract/points.ts";
import { accountRef, programRef } from "../../src/points/ports/records.ts";
import type { Account } from "../../src/points/rules/account.ts";
import { expireDueInShard } from "../../src/points/use-cases/expire-due.ts";
import { windowReader } from "../../src/points/use-cases/jobs/export-window.ts";
import { readPastAccount } from "../../src/points/use-cases/past-balance.ts";
import { executeReservation } from "../../src/reservations/use-cases/execute.ts";
import { toItem } from "../../src/store/codecs.ts";
import {
  costs,
  idlePassReads,
  idleSweepReads,
  measured,
  stored,
} from "../../tools/capacity/units.ts";
import {
  type CapturedRequest,
  type DynamoProxy,
  startDynamoProxy,
} from "../../tools/dynamo-proxy/proxy.ts";
import { noObservers } from "../support/fixtures/no-observers.ts";
import { sweepAll } from "../support/fixtures/sweep-overdue.ts";
import { noWorkflows } from "../support/servers/no-workflows.ts";
import { composeWorker, startServer, type TestServer } from "../support/servers/server.ts";

const calls = 4;

const dayMs = 86_400_000;

/** Longer than a process keeps records that it has committed. */
const coldMs = 1_500;

/** No request for so long: the work behind the answers has ended. */
const quietMs = 500;

/** AWS adds it to the size of each item that is stored, and to that of each entry in an index. */
const overheadBytes = 100;

interface Stack {
  readonly server: TestServer;
  readonly proxy: DynamoProxy;
  readonly meter: Meter;
  readonly tables: ReadonlyMap<string, TableModel>;
  /** The bytes of each item and of its index entries, by its table and key. */
  readonly sizes: Map<string, number>;
}

const opened: Stack[] = [];
let stack: Stack;
beforeAll(async () => {
  stack = await open(false);
});
afterAll(async () => {
  for (const { server, proxy } of opened) {
    await server.stop();
    await proxy.stop();
  }
});

async function open(testClock: boolean): Promise<Stack> {
  const proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
  const server = await startServer({ dynamoEndpoint: proxy.endpoint, testClock });
  const models = tableDefinitions(tableName(server.config.tablePrefix)).map(tableModel);
  const tables = new Map(models.map((model) => [model.name, model]));
  const started = { server, proxy, meter: createMeter(models), tables, sizes: new Map() };
  opened.push(started);
  return started;
}

interface Put {
  readonly TableName: string;
  readonly Item: Item;
}

interface Delete {
  readonly TableName: string;
  readonly Key: Item;
}

/** The puts and deletes of a request, in a transaction or plain. */
const changesOf = ({ operation, request }: CapturedRequest): readonly (Put | Delete)[] => {
  if (operation === "PutItem" || operation === "DeleteItem") return [request as Put | Delete];
  const { TransactItems = [] } = request as { TransactItems?: readonly { Put?: Put }[] };
  return TransactItems.flatMap(({ Put }) => (Put ? [Put] : []));
};

/** The bytes of an item, and of its entries in indexes, which are billed likewise. */
function storedBytes(table: TableModel, item: Item): number {
  const entries = table.indexes.map((index) => projection(table, index, item));
  return sum([item, ...entries].map((each) => (each ? itemSize(each) + overheadBytes : 0)));
}

/** Waits until nothing is under way, and no request has come for a while. */
async function quiet(proxy: DynamoProxy): Promise<void> {
  for (let seen = -1, since = 0; ; await sleep(20)) {
    const { requests, underWay } = proxy.stats();
    const count = sum(Object.values(requests));
    if (underWay > 0 || count !== seen) since = performance.now();
    if (performance.now() - since >= quietMs) return;
    seen = count;
  }
}

/** The units of a call, and the bytes that it has added, its work behind the answer included. */
async function costOf(
  call: (i: number) => Promise<unknown>,
  { proxy, meter, tables, sizes }: Stack = stack,
) {
  await sleep(coldMs);
  const before = sum(sizes.values());
  proxy.capture(true);
  for (let i = 0; i < calls; i += 1) await call(i);
  await quiet(proxy);
  proxy.capture(false);
  const captured = proxy.captured();
  for (const change of captured.flatMap(changesOf)) {
    const { TableName } = change;
    const { pk, sk } = "Item" in change ? change.Item : change.Key;
    const key = JSON.stringify([TableName, pk, sk]);
    const table = tables.get(TableName);
    if (!table) throw new Error(`no table ${TableName} is known`);
    if ("Item" in change) sizes.set(key, storedBytes(table, change.Item));
    else sizes.delete(key);
  }
  const { reads, writes } = meter.addAll(captured);
  const bytes = Math.round((sum(sizes.values()) - before) / calls);
  return { cost: { writes: writes / calls, reads: reads / calls }, bytes };
}

type Cost = (typeof costs)[keyof typeof costs];

/**
 * Writes are exact. The process reads a program anew every half minute, and a slow call reads again
 * what the one before it has committed.
 */
function expectCost({ writes, reads }: Usage, expected: Cost): void {
  expect(writes).toBe(expected.writes);
  expectReads(reads, expected.reads);
}

function expectReads(reads: number, expected: number): void {
  expect(reads).toBeGreaterThanOrEqual(expected);
  expect(reads).toBeLessThanOrEqual(1.2 * expected + 0.5);
}

/** Times have more or fewer digits that are stored: a byte for two of them, in a few attributes. */
function expectStored(bytes: number, expected: number): void {
  const tolerance = Math.max(8, expected * 0.03);
  expect(Math.abs(bytes - expected)).toBeLessThanOrEqual(tolerance);
}

const sum = (numbers: Iterable<number>) => [...numbers].reduce((a, b) => a + b, 0);

/** The first change that falls due in an hour writes the hour. Another one may begin meanwhile. */
async function markHours(time: number): Promise<void> {
  const { dueHours } = stack.server.deps;
  for (const each of [time, Math.max(time, Date.now()) + 3_600_000]) {
    await dueHours.mark("default", each, undefined);
  }
}

const userName = (i: number) => `user-${String(i).padStart(7, "0")}`;
let events = 0;
const event = () => ({ eventId: `event-${String(++events).padStart(12, "0")}`, reason: "review" });

test("grants, uses and balances", async () => {
  const { points } = stack.server;
  const grant = (i: number) => points.grantPoints({ userId: userName(i), points: 5n, ...event() });
  const first = await costOf(grant);
  const next = await costOf(grant);
  expectCost(next.cost, costs.grant);
  expectStored(next.bytes, stored.grant);
  expectStored(first.bytes - next.bytes, stored.member);
  const ref = accountRef("default", userName(0));
  const [account] = await stack.server.deps.reader.many([ref]);
  expectStored(itemSize(toItem(ref, account ?? expect.fail(), 1)), stored.account);
  const use = (i: number) => points.usePoints({ userId: userName(i), points: 1n, ...event() });
  const used = await costOf(use);
  expectCost(used.cost, costs.use);
  expectStored(used.bytes, stored.use);
  const balance = await costOf((i) => points.getBalance({ userId: userName(i) }));
  expectCost(balance.cost, costs.balance);
  expect(balance.bytes).toBe(0);
});

test("the past of an account, and what an export reads of it", async () => {
  const { points, deps } = stack.server;
  const program = await deps.programs.get("default");
  const name = (i: number) => `past-${i}`;
  for (let i = 0; i < 20 * calls; i += 1) {
    await points.grantPoints({ userId: name(i % calls), points: 5n, ...event() });
  }
  const refs = Array.from({ length: calls }, (_, i) => accountRef("default", name(i)));
  const accounts = await deps.reader.many(refs);
  const read = (i: number) => {
    const account = accounts[i] as Account;
    return readPastAccount(deps, program, account, account.time - 1);
  };
  expectCost((await costOf(read)).cost, costs.past);
  const window = { start: 0, end: Date.now() };
  const pages = accounts.map((account) => async () => ({ items: [account as Account] }));
  const exported = (i: number) => {
    const reader = { ...deps.reader, accounts: pages[i] as (typeof pages)[number] };
    return windowReader({ reader }, "default", window, { segment: 0, segments: 1 })(undefined);
  };
  expectCost((await costOf(exported)).cost, costs.window);
});

test("reservations, and their grants", async () => {
  const { reservations, deps } = stack.server;
  // Due already, so that no wait has to outlast the calls. It costs and stores the same.
  const executeTime = Date.now() - 60_000;
  const reservationId = (i: number) => `reservation-${i}`;
  const reserve = (i: number) =>
    reservations.createReservation({
      ...{ reservationId: reservationId(i), userId: userName(i), points: 5n, reason: "review" },
      executeTime: timestampFromMs(executeTime),
    });
  await markHours(executeTime);
  const reserved = await costOf(reserve);
  expectCost(reserved.cost, costs.reserve);
  expectStored(reserved.bytes, stored.reserve);
  const name = (i: number) => ({ reservationId: reservationId(i), userId: userName(i) });
  const execute = (i: number) => executeReservation(deps, { programId: "default", ...name(i) });
  const executed = await costOf(execute);
  expectCost(executed.cost, costs.execute);
  expectStored(executed.bytes, stored.execute);
});

test("a hold costs 8 write units, a capture of it 10, and its refund 8", async () => {
  const { holds, points } = stack.server;
  const userId = (i: number) => `holder-${i}`;
  await costOf((i) => points.grantPoints({ userId: userId(i), points: 50n, ...event() }));
  const name = (i: number) => ({ userId: userId(i), holdId: `hold-${i}`, reason: "review" });
  const inAnHour = Date.now() + 3_600_000;
  await markHours(inAnHour);
  const until = timestampFromMs(inAnHour);
  const held = await costOf((i) => holds.holdPoints({ ...name(i), points: 40n, until }));
  const capture = (eventId: string, moreCapturesFollow: boolean) => (i: number) =>
    holds.capturePoints({ ...name(i), eventId, points: 10n, moreCapturesFollow });
  const open = await costOf(capture("first", true));
  const refund = { useEventId: "first", expiredPointsPolicy: ExpiredPointsPolicy.CURRENT_MONTH };
  const refunded = await costOf((i) =>
    points.refundPoints({ ...name(i), ...event(), ...refund, points: 5n }),
  );
  const ended = await costOf(capture("last", false));
  const writes = [held, open, refunded, ended].map(({ cost }) => cost.writes);
  expect(writes).toEqual([8, 10, 8, 10]);
});

test("likes, events, and reading them", async () => {
  const { reactions, notifications, deps } = stack.server;
  const ownerId = (i: number) => `owner-${i}`;
  const targetName = (i: number) => ({ type: "comment", id: `comment-${i}` });
  const displayName = "Yamada Hanako";
  const texts = { title: "A comment", link: "/comments/1" };
  await costOf((i) =>
    registerTarget(deps, { target: targetName(i), ownerId: ownerId(i), ...texts }),
  );
  const like = (who: string) => (i: number) =>
    reactions.react({ targetName: targetName(i), userId: `${who}-${i}`, displayName });
  await costOf(like("a"));
  const liked = await costOf(like("b"));
  expectCost(liked.cost, costs.like);
  expectStored(liked.bytes, stored.like);
  const notify = (who: string) => (i: number) => {
    const { eventId } = event();
    const about = { targetName: targetName(i), kind: "reply", eventId };
    return notifications.notify({ ...about, userId: `${who}-${i}`, displayName });
  };
  await costOf(notify("c"));
  expectCost((await costOf(notify("d"))).cost, costs.notify);
  const read = async (i: number) => {
    const { notifications: lines } = await notifications.listNotifications({ ownerId: ownerId(i) });
    expect(lines).toHaveLength(2);
    for (const { notificationId, version } of lines) {
      await notifications.markNotificationRead({ ownerId: ownerId(i), notificationId, version });
    }
  };
  expectCost((await costOf(read)).cost, costs.read);
});

test("the month end of an account with points that expire", async () => {
  const late = await open(true);
  const { points, clock, deps } = late.server;
  const at = (text: string) => clock.setTime({ time: timestampFromMs(Date.parse(text)) });
  await at("2026-01-15T00:00:00Z");
  const grant = (i: number) => points.grantPoints({ userId: userName(i), points: 5n, ...event() });
  await costOf(grant, late);
  await at("2027-02-15T00:00:00Z");
  const sweep = async (i: number) => {
    if (i > 0) return;
    for (let shard = 0; shard < shardCount; shard += 1) {
      await expireDueInShard(deps, { programId: "default", shard }, () => true);
    }
  };
  expect((await costOf(sweep, late)).cost.writes).toBe(costs.expire.writes);
});

test("an idle pass and an idle sweep, and what a further program adds to them", async () => {
  const idle = await open(false);
  const { deps, close } = composeWorker(idle.server);
  onTestFinished(close);
  const program = await deps.programs.get("default");
  // In a minute of the day in which the first program does not have its turn.
  const wall = Math.floor(Date.now() / dayMs) * dayMs - 60_000;
  const clock: Clock = { now: async () => ({ ...(await deps.clock.now()), wall }) };
  const { syncRuns } = createActivities({
    deps: { ...deps, clock, workflows: { ...noWorkflows, countPaused: async () => 0 } },
    ...noObservers,
  });
  const unexpected = () => expect.unreachable("nothing is overdue");
  const observers = { onDone: unexpected, onFailed: unexpected };
  const sweep = (i: number) => (i > 0 ? undefined : sweepAll({ ...deps, clock }, observers));
  const pass = async (i: number) => {
    if (i > 0) return;
    await new MockActivityEnvironment().run(syncRuns, { since: new Date(wall).toISOString() });
  };
  const readsOf = async (work: (i: number) => unknown) =>
    calls * (await costOf(async (i) => void (await work(i)), idle)).cost.reads;
  const ofOne = { sweep: await readsOf(sweep), pass: await readsOf(pass) };
  expectReads(ofOne.sweep, idleSweepReads);
  expectReads(ofOne.pass, idlePassReads);
  for (let i = 0; i < 100; i += 1) {
    const named = { ...program, programId: `idle-${i}` };
    await changeRecord(deps, { ref: programRef(named.programId), expectAbsent: true }, () => named);
  }
  expect(await readsOf(sweep)).toBe(ofOne.sweep);
  // Their records are read in pages, the changes of their rules one by one, and one has its turn.
  expect((await readsOf(pass)) - ofOne.pass).toBeLessThan(1.25 * 100);
});

const { results } = readStored();

test.skipIf(results.length === 0)("what the last run of the benchmarks has measured", () => {
  const resultOf = (name: string) => results.find((each) => each.name === name)?.value;
  expect(measured).toEqual({
    rowWrites: resultOf("bulk.write_units.first"),
    watcherReads: resultOf("watch.read_units"),
    announcedWatcherReads: resultOf("watch.quiet_units"),
    streamKb: resultOf("watch.stream_bytes"),
    heldGrantKb: resultOf("reservation.hold.memory"),
  });
  expect(costs.expire.reads).toBe(resultOf("expiry.account_reads"));
});
