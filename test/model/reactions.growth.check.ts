/** Tests that a like of a target with many likes costs as much as with a few. */
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Item, tableModel } from "../../bench/capacity.ts";
import { createMeter, type Meter } from "../../bench/meter.ts";
import { inboxRef, reactionRef, targetRef, unreadGroupRef } from "../../src/feed/ports/records.ts";
import { emptyInbox } from "../../src/feed/rules/inbox.ts";
import { markNotificationRead } from "../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../src/feed/use-cases/notifications/inbox.ts";
import { listNotifications } from "../../src/feed/use-cases/notifications/queries.ts";
import { react, unreact } from "../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../src/feed/use-cases/reactions/targets.ts";
import { tableDefinitions } from "../../src/ops/tables/definitions.ts";
import { itemSize } from "../../src/platform/dynamodb/sdk/item-size.ts";
import type { Kind, Records, Ref } from "../../src/platform/ports/records.ts";
import { codecOf, toItem } from "../../src/store/codecs.ts";
import { type DynamoProxy, startDynamoProxy } from "../../tools/dynamo-proxy/proxy.ts";
import { type Process, startProcess } from "../support/models/fault-workload.ts";
import { inForm } from "../support/soak.ts";
import { putItems } from "../support/stores/copy-table.ts";
import { ownTables } from "../support/stores/own-tables.ts";

const kind = "like";
/** More than the members of a group that is read whole. */
const few = 200;
const many = inForm({ short: 5_000, long: 20_000 });
/** Ids, names, title and link have their largest length. */
const long = (text: string, length: number) => text.padEnd(length, "-");
const hourMs = 3_600_000;
const userOf = (i: number) => long(`user-${i}`, 64);
const nameOf = (i: number) => long(`User ${i}`, 64);

const { endpoint: upstream, names, clients } = ownTables("growth");
let proxy: DynamoProxy;
let direct: Process;
let meter: Meter;

beforeAll(async () => {
  proxy = await startDynamoProxy({ upstream });
  direct = startProcess(upstream, names);
  meter = createMeter(tableDefinitions(names).map(tableModel));
});

afterAll(async () => {
  direct.close();
  await proxy.stop();
});

const targetOf = (ownerId: string) => ({ type: long("comment", 20), id: long(ownerId, 64) });

/** A comment with the records of `count` likes, as if they had come one after another. */
async function liked(name: string, count: number): Promise<string> {
  const ownerId = long(name, 64);
  const target = targetOf(ownerId);
  const known = { title: long("Title", 96), link: long("https://example.com/", 200) };
  const registered = await registerTarget(direct.deps, { target, ownerId, ...known });
  const createTime = registered.createTime;
  const actor = (i: number) => ({ userId: userOf(i), displayName: nameOf(i) });
  const records = Array.from({ length: count }, (_, i) => {
    const record = { target, kind, ...actor(i + 1), version: i + 1, notified: true, createTime };
    return item(reactionRef(target, kind, record.userId), record, i + 1);
  });
  const member = (i: number) => ({ ...actor(i), version: i, createTime });
  const late = Math.min(count, 90);
  const group = {
    kind,
    target,
    generation: 1,
    memberCount: count,
    actorCount: count,
    firstMembers: [1, 2].map(member),
    latestMembers: [count, count - 1, count - 2].map(member),
    leaveCount: 0,
    leaveTime: 0,
    recent: { after: count - late, count: late, middle: count - 44, lateCount: 44, middleTime: 0 },
  };
  const counts = { version: count, notificationCount: 1, actorCount: count };
  const inbox = { ...emptyInbox, ...counts, unseen: [count] };
  await putItems(clients.retrying, names("reactions"), [
    ...records,
    item(targetRef(target), { ...registered, counts: { [kind]: count } }, count + 1),
  ]);
  await putItems(clients.retrying, names("notifications"), [
    item(inboxRef(ownerId), inbox, count),
    item(unreadGroupRef(ownerId, target, kind), group, count),
  ]);
  return ownerId;
}

function item<K extends Kind>(ref: Ref<K>, value: Records[K], version: number): Item {
  const whole = toItem(ref, value, version);
  expect(itemSize(whole), codecOf(ref.kind).table).toBeLessThan(1_024);
  return whole;
}

/** The cost of a call to a process with an empty cache, by a clock that is so much ahead. */
async function costOf(work: (process: Process) => Promise<unknown>, aheadMs = 0) {
  const fresh = startProcess(proxy.endpoint, names, "thin", aheadMs);
  proxy.capture(true);
  await work(fresh);
  proxy.capture(false);
  fresh.close();
  const captured = proxy.captured();
  const read = captured.map(({ response }) => {
    const { ScannedCount = 0 } = response as { ScannedCount?: number };
    return ScannedCount;
  });
  const written = captured.flatMap(({ operation, request }) => {
    if (operation !== "TransactWriteItems") return [];
    const { TransactItems } = request as { TransactItems: { Put?: { Item: Item } }[] };
    return TransactItems.map(({ Put }) => (Put ? itemSize(Put.Item) : 0));
  });
  expect(Math.max(...written)).toBeLessThan(1_024);
  return {
    exactly: {
      usage: meter.addAll(captured),
      requests: captured.map(({ operation }) => operation).sort(),
      itemsQueried: read.reduce((sum, count) => sum + count, 0),
      itemsWritten: written.length,
    },
    bytesWritten: written.reduce((sum, bytes) => sum + bytes, 0),
  };
}

const likeBy = (ownerId: string, i: number) => ({
  target: targetOf(ownerId),
  kind,
  userId: userOf(i),
  displayName: nameOf(i),
});

/**
 * The first like is not compared: with it the meter learns the stored items. What has changed
 * within the last second is read in another way, so each process has a clock behind that of the
 * one before, by which all has changed just now, however slow the machine is.
 */
async function costsOf(ownerId: string, count: number) {
  const target = targetOf(ownerId);
  const likeOf = (i: number) => (process: Process) => react(process.deps, likeBy(ownerId, i));
  const unlikeOf = (i: number) => (process: Process) => unreact(process.deps, likeBy(ownerId, i));
  await costOf(likeOf(count + 1));
  const like = await costOf(likeOf(count + 2), -hourMs);
  const unlike = await costOf(unlikeOf(Math.ceil(count / 2)), -2 * hourMs);
  const shownUnlike = await costOf(unlikeOf(1), -3 * hourMs);
  const markBy = async (aheadMs: number, newcomers: readonly number[]) => {
    const { version } = await inboxOf(direct.deps, ownerId);
    for (const i of newcomers) await react(direct.deps, likeBy(ownerId, count + i));
    const read = { ownerId, target, kind, version };
    return await costOf(async ({ deps }) => {
      const { changed, inbox } = await markNotificationRead(deps, read);
      expect(changed).toBe(true);
      expect(inbox).toMatchObject({ notificationCount: 1, actorCount: 3 });
    }, aheadMs);
  };
  const mark = await markBy(-4 * hourMs, [3, 4, 5]);
  // By this one, all has changed long ago.
  const lateMark = await markBy(hourMs, [6, 7, 8]);
  return { like, unlike, shownUnlike, mark, lateMark };
}

test("for the last like, unlikes, and reads with three newcomers", async () => {
  const small = await costsOf(await liked("small", few), few);
  const ownerId = await liked("large", many);
  const large = await costsOf(ownerId, many);
  for (const what of ["like", "unlike", "shownUnlike", "mark", "lateMark"] as const) {
    expect(large[what].exactly, what).toEqual(small[what].exactly);
    const growth = large[what].bytesWritten / small[what].bytesWritten;
    expect(growth, what).toBeLessThan(1.1);
  }
  // Target, inbox, group and record: two units each; one for each of the record's two index
  // entries, two for the group's index entry, which is replaced.
  expect(large.like.exactly).toMatchObject({ itemsWritten: 4, usage: { writes: 12 } });

  const page = { size: 10, cursor: undefined };
  const listed = async (state: "UNREAD" | "READ") =>
    (await listNotifications(direct.deps, { ownerId, state, kinds: [] }, page)).items;
  const [unread] = await listed("UNREAD");
  const firstOf = (i: number) => [{ displayName: nameOf(i) }, { displayName: nameOf(i + 1) }];
  expect(unread).toMatchObject({ actorCount: 3, firstMembers: firstOf(many + 6) });
  const [, read] = await listed("READ");
  // Two of the 100,002 users have left, the first one among them.
  expect(read).toMatchObject({ actorCount: many, firstMembers: firstOf(2) });
  for (const table of ["notifications", "reactions"] as const) {
    const { Items = [] } = await clients.retrying.send(
      new ScanCommand({ TableName: names(table) }),
    );
    for (const each of Items) expect(itemSize(each)).toBeLessThan(1_024);
  }
});
