/**
 * Tests feeds whose servers are killed: many people react, unreact and cause events
 * through two servers, while owners read, and after each kill the server starts again. The servers
 * announce their commits by Redis, and a kill loses announcements: every stream ends up with the
 * true counts. Afterwards the oracle applies all requests in the order of their versions, which the
 * transactions on the store tell, and everything that can be read has to equal it: what was
 * acknowledged has been done once, what was given up once or not at all. The stored rows have to
 * agree with each other.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { verdictOn } from "../../packages/client/src/retry-policy.ts";
import { inboxOf } from "../../src/feed/use-cases/notifications/inbox.ts";
import { listNotifications } from "../../src/feed/use-cases/notifications/queries.ts";
import { itemByItem } from "../../tools/dynamo-proxy/isolation.ts";
import { type DynamoProxy, startDynamoProxy } from "../../tools/dynamo-proxy/proxy.ts";
import { startAnnouncements, type TestAnnouncements } from "../support/fixtures/announcements.ts";
import { followCounts, untilTrueCounts } from "../support/fixtures/followed-counts.ts";
import { patience } from "../support/fixtures/waiting.ts";
import { randomFrom } from "../support/models/random.ts";
import { audit } from "../support/models/reactions-audit.ts";
import { logOf, type Sent } from "../support/models/reactions-commits.ts";
import { checkSums } from "../support/models/reactions-model.ts";
import {
  type Answer,
  eventsOf,
  type NotificationName,
  nameText,
  type Request,
  type RequestOf,
  type TargetName,
} from "../support/models/reactions-requests.ts";
import { answerByRpc } from "../support/models/reactions-rpc.ts";
import type { Shown } from "../support/models/reactions-shown.ts";
import { show } from "../support/models/reactions-use-cases.ts";
import { applyAll } from "../support/models/reactions-workload.ts";
import { type Redis, startRedis } from "../support/servers/redis.ts";
import { toRefusal } from "../support/servers/refusal.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { type ServerProcess, startServerProcess } from "../support/servers/server-process.ts";
import { inForm, isLong, soakSeed } from "../support/soak.ts";
import { itemsOf } from "../support/stores/dump.ts";

const seed = soakSeed(20_261_125);
const kills = inForm({ short: 3, long: 6 });
/** So many answers come between two kills. */
const answersBetween = 40;
const callers = 8;
const usersEach = 3;
const kinds = ["like", "constructor"];
const comments = eventsOf("comment");

/** Owns the tables and reads them directly; the servers are processes behind the proxy. */
let tables: TestServer;
let proxy: DynamoProxy;
let redis: Redis;
/** What the servers announce. */
let announcements: TestAnnouncements;
let servers: ServerProcess[];

beforeAll(async () => {
  tables = await startServer({ testClock: false, dynamoEndpoint: inject("dynamodbEndpoint") });
  const { tablePrefix } = tables.config;
  proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint"), seed });
  redis = await startRedis();
  const url = `redis://127.0.0.1:${redis.port}`;
  announcements = startAnnouncements({ url, prefix: tablePrefix });
  const env = {
    MEGURI_DYNAMODB_ENDPOINT: proxy.endpoint,
    MEGURI_TABLE_PREFIX: tablePrefix,
    MEGURI_ANNOUNCE_URL: url,
    // No server listens there; no call of this test needs Temporal.
    MEGURI_TEMPORAL_ADDRESS: "127.0.0.1:1",
  };
  servers = await Promise.all([startServerProcess(env), startServerProcess(env)]);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await announcements.close();
  await redis.stop();
  await proxy.stop();
  await tables.stop();
});

const random = randomFrom(seed);
const upTo = (limit: number) => Math.floor(random() * limit);

/** What was sent to an owner's feed. */
interface Feed {
  readonly ownerId: string;
  readonly targets: readonly TargetName[];
  readonly sent: Sent[];
}

const counted = { answers: 0, retried: 0, givenUp: 0 };

type RpcRequest = Exclude<Request, RequestOf<"readKindsToPurge">>;

/** Calls a server once. Undefined if the call may have been made or not. */
async function tryOnce(
  server: ServerProcess,
  ownerId: string,
  request: RpcRequest,
): Promise<Answer | undefined> {
  const { clientsOf } = server;
  try {
    return await answerByRpc({ clientsOf, ...clientsOf("tests") }, ownerId, request);
  } catch (error) {
    if (verdictOn(ConnectError.from(error)).retry !== "never") return undefined;
    return { refused: toRefusal(error).reason };
  }
}

/** Sends a request to either server until it is answered or given up. */
async function send(
  { ownerId, sent }: Feed,
  request: RpcRequest,
  { isMuted = false, mayGiveUp = false } = {},
): Promise<Answer | undefined> {
  const { version: after } = await inboxOf(tables.deps, ownerId);
  const time = Date.now();
  let answer: Answer | undefined;
  let tries = 0;
  do {
    if (tries > 0) await sleep(upTo(200));
    tries += 1;
    answer = await tryOnce(servers[upTo(2)] as ServerProcess, ownerId, request);
  } while (!answer && (!mayGiveUp || random() < 0.9));
  counted.retried += tries - 1;
  counted[answer ? "answers" : "givenUp"] += 1;
  const before = answer ? (await inboxOf(tables.deps, ownerId)).version : Number.POSITIVE_INFINITY;
  sent.push({ request, isMuted, time, after, before, tries, ...(answer && { answer }) });
  return answer;
}

/** Sends a request that takes no version, or is not logged, until it is answered. */
async function untilAnswered(ownerId: string, request: RpcRequest, server?: ServerProcess) {
  while (!(await tryOnce(server ?? (servers[upTo(2)] as ServerProcess), ownerId, request))) {
    await sleep(upTo(50));
  }
}

/** The requests of one caller's users. */
interface Caller {
  readonly caller: number;
  /** Of a user whose request was given up nothing is known, so another one comes instead. */
  readonly users: string[];
  /** All users that there have been. */
  readonly all: string[];
  /** Owner and user of each person that is muted now. */
  readonly muted: Set<string>;
  /** The events that were reported, and are to be retracted, by owner. */
  readonly events: Map<string, RequestOf<"retract">[]>;
  count: number;
}

/** Sends requests of one caller until the kills are over. */
async function callUntil(feeds: readonly Feed[], caller: Caller, over: AbortSignal) {
  while (!over.aborted) {
    const feed = feeds[upTo(feeds.length)] as Feed;
    const at = upTo(usersEach);
    const userId = caller.users[at] as string;
    const request = requestOf(caller, feed, userId);
    const isMuted = caller.muted.has(`${feed.ownerId} ${userId}`);
    if (request.op === "mutePerson") {
      await untilAnswered(feed.ownerId, request);
      caller.muted[request.muted ? "add" : "delete"](`${feed.ownerId} ${userId}`);
    } else if (!(await send(feed, request, { isMuted, mayGiveUp: true }))) {
      const next = `user-${caller.caller}-${caller.all.length}`;
      caller.users[at] = next;
      caller.all.push(next);
    }
    await sleep(upTo(200));
  }
}

function requestOf(caller: Caller, { ownerId, targets }: Feed, userId: string): RpcRequest {
  const target = targets[random() < 0.5 ? 0 : upTo(targets.length)] as TargetName;
  const drawn = random();
  const kind = random() < 0.8 ? "like" : "constructor";
  const displayName = `${userId} ${++caller.count}`;
  if (drawn < 0.45) {
    const exclusive = random() < 0.2;
    const silent = random() < 0.1;
    const rules = { coolDownMs: random() < 0.7 ? 0 : undefined, regroupAfterMs: undefined };
    return { op: "react", target, kind, userId, displayName, exclusive, silent, ...rules };
  }
  if (drawn < 0.65) return { op: "unreact", target, kind, userId };
  const events = caller.events.get(ownerId) ?? [];
  const reported = drawn < 0.75 ? events.pop() : undefined;
  if (reported) return reported;
  if (drawn > 0.96) {
    return { op: "mutePerson", userId, muted: !caller.muted.has(`${ownerId} ${userId}`) };
  }
  const event = { service: "blog", eventId: `e-${caller.caller}-${caller.count}`, target } as const;
  caller.events.set(ownerId, [...events, { op: "retract", ...event }]);
  const content = { userId, displayName, link: "", data: "", regroupAfterMs: undefined };
  return { op: "notify", ...event, kind: comments, ...content };
}

/** Marks notifications as read or unread, or dismisses them, until the kills are over. */
async function readUntil(feed: Feed, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const { version } = await inboxOf(tables.deps, feed.ownerId);
    await sleep(100 + upTo(200));
    for (const name of version === 0 ? [] : await namesOf(feed, "UNREAD")) {
      if (random() < 0.6) continue;
      const op = random() < 0.2 ? "dismiss" : "read";
      await send(feed, { op, ...name, version: Math.max(1, version - upTo(10)) });
    }
    for (const name of await namesOf(feed, "READ")) {
      const drawn = random();
      if (drawn < 0.05) await send(feed, { op: "unread", ...name });
      if (drawn >= 0.97) await send(feed, { op: "dismiss", ...name, version });
    }
  }
}

/** The names of the latest notifications of an owner. */
async function namesOf(
  { ownerId }: Feed,
  state: "UNREAD" | "READ",
): Promise<readonly NotificationName[]> {
  const page = { size: 10, cursor: undefined };
  const { items } = await listNotifications(tables.deps, { ownerId, state, kinds: [] }, page);
  return items.map(({ id: { target, kind, generation } }) => ({ target, kind, generation }));
}

/** Kills the servers in turns, sometimes both at once, each while calls are under way. */
async function killAll(): Promise<void> {
  for (let i = 0; i < kills; i++) {
    const before = counted.answers;
    await expect.poll(() => counted.answers - before, patience).toBeGreaterThan(answersBetween);
    const killed = i % 5 === 2 ? servers : [servers[i % 2] as ServerProcess];
    await Promise.all(killed.map(killAndRestart));
  }
}

async function killAndRestart(server: ServerProcess): Promise<void> {
  await server.kill();
  await server.restart();
}

/**
 * Kills a server after a commit of which it has not heard yet, so that it announces nothing. The
 * request counts as given up.
 */
async function loseAnnouncement({ ownerId, targets, sent }: Feed): Promise<void> {
  const [server] = servers as [ServerProcess];
  const { version: after } = await inboxOf(tables.deps, ownerId);
  const [target] = targets as [TargetName];
  const rules = { coolDownMs: undefined, regroupAfterMs: undefined };
  const plain = { exclusive: false, silent: false, ...rules };
  const person = { userId: "lost", displayName: "Lost" };
  const request = { op: "react", target, kind: "like", ...person, ...plain } as const;
  const time = Date.now();
  // The writer gets the answer when all items are applied.
  proxy.isolation({ applyMs: [20_000, 20_000] });
  const call = tryOnce(server, ownerId, request);
  const version = async () => (await inboxOf(tables.deps, ownerId)).version;
  await expect.poll(version, patience).toBeGreaterThan(after);
  await server.kill();
  proxy.isolation(itemByItem);
  await Promise.all([call, server.restart()]);
  const before = Number.POSITIVE_INFINITY;
  sent.push({ request, isMuted: false, time, after, before, tries: 1 });
}

/** Kills all servers and waits until nothing is on its way to the store that was given up. */
async function killForGood(): Promise<void> {
  await Promise.all(servers.map((server) => server.kill()));
  await expect.poll(() => proxy.stats().underWay, patience).toBe(0);
}

/** Blocks two people of each feed through both servers, one of which is killed meanwhile. */
async function block(feeds: readonly Feed[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const blocked = new Map<string, readonly string[]>();
  const blocks = feeds.map(async ({ ownerId }) => {
    const filter = { ownerId, state: "ALL", kinds: [] } as const;
    const page = { size: 10, cursor: undefined };
    const { items } = await listNotifications(tables.deps, filter, page);
    const members = items.flatMap((each) => [...each.firstMembers, ...each.latestMembers]);
    const userIds = [...new Set(members.map(({ userId }) => userId))].slice(0, 2);
    blocked.set(ownerId, userIds);
    for (const userId of userIds) {
      const request = { op: "block", userId } as const;
      await Promise.all(servers.map((server) => untilAnswered(ownerId, request, server)));
    }
  });
  await Promise.all([...blocks, killAndRestart(servers[0] as ServerProcess)]);
  return blocked;
}

/** The times are those of the servers, of which only some are known. */
const withoutTimes = ({ unread, read, ...rest }: Shown) => ({
  ...rest,
  unread: unread.map((each) => ({ ...each, times: [] })),
  read: read.map((each) => ({ ...each, times: [] })),
});

const title = `${kills} kills of servers: acknowledged calls are done once, others at most`;

test(title, async () => {
  const feeds = [0, 1, 2, 3].map((i): Feed => {
    const targets = [0, 1, 2].map((k) => ({ type: "post", id: `p-${i}-${k}` }));
    return { ownerId: `owner-${i}`, targets, sent: [] };
  });
  const [quiet, ...busy] = feeds as [Feed, ...Feed[]];
  const ownerIds = feeds.map(({ ownerId }) => ownerId);
  for (const ownerId of ownerIds) announcements.subscribe(ownerId);
  for (const { ownerId, targets } of feeds) {
    for (const target of targets) {
      await tryOnce(servers[0] as ServerProcess, ownerId, { op: "register", target, title: "" });
    }
  }
  proxy.capture(true);
  const streams = servers.map((server) => followCounts(server.clientsOf("tests"), ownerIds));
  await untilTrueCounts(tables.deps, ownerIds, streams);
  await loseAnnouncement(quiet);
  const all = Array.from({ length: callers }, (_, caller): Caller => {
    const users = Array.from({ length: usersEach }, (_, i) => `user-${caller}-${i}`);
    return { caller, users, all: [...users], muted: new Set(), events: new Map(), count: 0 };
  });
  const over = new AbortController();
  const { signal } = over;
  await Promise.all([
    killAll().finally(() => over.abort()),
    ...all.map((caller) => callUntil(busy, caller, signal)),
    ...busy.map((feed) => readUntil(feed, signal)),
  ]);
  await untilTrueCounts(tables.deps, ownerIds, streams);
  for (const { stepsBack, leave } of streams) {
    expect(stepsBack).toEqual([]);
    await leave();
  }
  const announced = new Set(announcements.announced.map((each) => each.split(":")[0]));
  expect([...announced].sort()).toEqual(busy.map(({ ownerId }) => ownerId));
  await killForGood();
  proxy.capture(false);
  console.info(JSON.stringify(counted));
  expect(counted.answers).toBeGreaterThan(kills * answersBetween);
  // Whether a kill meets calls depends on its moment.
  if (isLong) expect(counted.givenUp).toBeGreaterThan(kills / 2);
  const versions = await Promise.all(
    feeds.map(async ({ ownerId }) => (await inboxOf(tables.deps, ownerId)).version),
  );
  await Promise.all(servers.map((server) => server.restart()));
  const blocked = await block(feeds);
  await killForGood();

  const captured = proxy.captured();
  const dismissed: string[] = [];
  for (const [i, feed] of feeds.entries()) {
    const { ownerId, targets } = feed;
    const oracle = applyAll(logOf(feed, feed.sent, captured), versions[i] as number, new Map());
    for (const userId of blocked.get(ownerId) ?? []) oracle.apply({ op: "block", userId }, 0);
    for (const userId of all.flatMap((caller) => caller.all)) {
      const isMuted = all.some(({ muted }) => muted.has(`${ownerId} ${userId}`));
      const isBlocked = blocked.get(ownerId)?.includes(userId) ?? false;
      oracle.apply({ op: "mutePerson", userId, muted: isMuted || isBlocked }, 0);
    }
    const plain = { targets, kinds, filter: [], viewerId: "user-0-0", names: [], userIds: [] };
    const { unread, read } = await show(tables.deps, ownerId, plain);
    const selection = { ...plain, names: [...unread, ...read] };
    const shown = await show(tables.deps, ownerId, selection);
    checkSums(shown, oracle.unread.filter((each) => each.again).map(nameText));
    expect(withoutTimes(shown)).toEqual(withoutTimes(oracle.shown(selection, Date.now())));
    for (const { target, kind, version } of oracle.dismissed) {
      dismissed.push(`${[ownerId, kind, target.type, target.id].join("#")} ${version}`);
    }
  }
  const itemsIn = (table: "reactions" | "notifications") =>
    itemsOf(tables.dynamo, tables.table(table));
  const [reactions, notifications] = [await itemsIn("reactions"), await itemsIn("notifications")];
  audit({ reactions, notifications }, dismissed);
});
