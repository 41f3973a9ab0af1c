/**
 * Likes, unlikes, events, retractions, mutes, blocks, deletes and mark-reads of many users, sent
 * through two processes to a store with faults. Afterwards the oracle applies all acknowledged
 * requests in the order of their versions, and everything that can be read has to equal it. The
 * stored rows have to agree with each other.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Item } from "../../bench/capacity.ts";
import { inboxOf } from "../../src/feed/use-cases/notifications/inbox.ts";
import { listNotifications } from "../../src/feed/use-cases/notifications/queries.ts";
import { itemSize } from "../../src/platform/dynamodb/sdk/item-size.ts";
import { itemByItem } from "../../tools/dynamo-proxy/isolation.ts";
import { type DynamoProxy, startDynamoProxy } from "../../tools/dynamo-proxy/proxy.ts";
import { allItems } from "../support/fixtures/pages.ts";
import { patiently } from "../support/fixtures/waiting.ts";
import {
  type Process,
  settle,
  startProcess,
  transports,
} from "../support/models/fault-workload.ts";
import { randomFrom } from "../support/models/random.ts";
import { audit } from "../support/models/reactions-audit.ts";
import { purge } from "../support/models/reactions-memory.ts";
import { checkSums } from "../support/models/reactions-model.ts";
import {
  type Answer,
  eventsOf,
  nameText,
  type Request,
  type RequestOf,
  type TargetName,
} from "../support/models/reactions-requests.ts";
import type { Shown } from "../support/models/reactions-shown.ts";
import { answerTo, show } from "../support/models/reactions-use-cases.ts";
import {
  applyAll,
  type RequestLog,
  type StoredReactions,
  sendUntilAnswered,
} from "../support/models/reactions-workload.ts";
import { inForm, soakSeed } from "../support/soak.ts";
import { itemsOf } from "../support/stores/dump.ts";
import { ownTables } from "../support/stores/own-tables.ts";

const seed = soakSeed(20_261_121);
const operations = inForm({ short: 120, long: 1_500 });
const callers = 32;
const usersEach = 6;
const kinds = ["like", "constructor"];
const comments = eventsOf("comment");

const ownerIds = Array.from({ length: 4 }, (_, i) => `owner-${i}`);
const targetsOf = (ownerId: string): TargetName[] =>
  Array.from({ length: 5 }, (_, i) => ({ type: "comment", id: `${ownerId}-${i}` }));

const { endpoint: upstream, names, clients } = ownTables("likes");
let proxy: DynamoProxy;
let direct: Process;
let processes: Process[];

beforeAll(async () => {
  proxy = await startDynamoProxy({ upstream, seed });
  direct = startProcess(upstream, names);
  processes = transports.map((each) => startProcess(proxy.endpoint, names, each));
});

afterAll(async () => {
  for (const each of [direct, ...processes]) each.close();
  await proxy.stop();
});

const random = randomFrom(seed);
const upTo = (limit: number) => Math.floor(random() * limit);

/** As cool-down or before a notification is closed: so short that both happen. */
const soonMs = 200;
const soonOrNever = () => (random() < 0.2 ? soonMs : undefined);

const anyProcess = () => (processes[upTo(processes.length)] as Process).deps;

/** The requests of one caller's users, and what the users have done by then. */
interface Caller {
  readonly caller: number;
  /** By target and user: the kinds with which the user reacts. */
  readonly reacts: Map<string, Set<string>>;
  /** Owner and user of each person that is muted now. */
  readonly muted: Set<string>;
  /** The events that were reported, and are to be retracted, by owner. */
  readonly events: Map<string, RequestOf<"retract">[]>;
  sent: number;
}

/** Sends a share of the requests of one caller, some of them to both processes at once. */
async function send(logs: readonly RequestLog[], caller: Caller, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    // A quarter goes to one comment.
    const log = logs[random() < 0.25 ? 0 : upTo(logs.length)] as RequestLog;
    const target = log.targets[random() < 0.5 ? 0 : upTo(5)] as TargetName;
    const userId = `user-${caller.caller}-${upTo(usersEach)}`;
    const request = requestOf(caller, log, target, userId);
    const isMuted = caller.muted.has(`${log.ownerId} ${userId}`);
    const receivers = random() < 0.1 ? processes.map(({ deps }) => deps) : [anyProcess()];
    const answers = await Promise.all(
      receivers.map((deps) => sendUntilAnswered(deps, log, request, isMuted)),
    );
    const changes = answers.filter(
      (answer) =>
        ("changed" in answer && answer.changed) || ("replayed" in answer && !answer.replayed),
    );
    expect(changes.length).toBeLessThanOrEqual(1);
    note(caller, log, request, answers[0] as Answer);
  }
}

function requestOf(
  caller: Caller,
  { ownerId, targets }: RequestLog,
  target: TargetName,
  userId: string,
): Request {
  const first = targets[0] as TargetName;
  const drawn = random();
  const kind = random() < 0.8 ? "like" : "constructor";
  const displayName = `${userId} ${++caller.sent}`;
  if (drawn < 0.5) {
    const exclusive = random() < 0.2;
    const coolDownMs = [0, 0, soonMs, undefined][upTo(4)];
    const rules = { coolDownMs, regroupAfterMs: soonOrNever() };
    const silent = random() < 0.1;
    return { op: "react", target, kind, userId, displayName, exclusive, silent, ...rules };
  }
  if (drawn < 0.75) return { op: "unreact", target, kind, userId };
  const reported = drawn < 0.82 ? caller.events.get(ownerId)?.pop() : undefined;
  if (reported) return reported;
  if (drawn < 0.94) {
    const eventId = `e-${caller.caller}-${caller.sent}`;
    // The purge, not the deletion, ends the notification of an event that comes with it.
    const kept = targets.indexOf(target) >= 3 ? first : target;
    const event = { op: "notify", service: "blog", eventId } as const;
    const content = { userId, displayName, link: "", data: "" };
    const { service } = event;
    const retract = { op: "retract", service, eventId, target: kept } as const;
    caller.events.set(ownerId, [...(caller.events.get(ownerId) ?? []), retract]);
    return { ...event, target: kept, kind: comments, ...content, regroupAfterMs: soonOrNever() };
  }
  return { op: "mutePerson", userId, muted: !caller.muted.has(`${ownerId} ${userId}`) };
}

/** Notes what follows from an answer. */
function note(
  { reacts, muted }: Caller,
  { ownerId }: RequestLog,
  request: Request,
  answer: Answer,
) {
  if ("refused" in answer) return;
  if (request.op === "mutePerson") {
    const name = `${ownerId} ${request.userId}`;
    if (request.muted) muted.add(name);
    else muted.delete(name);
  }
  if (request.op !== "react" && request.op !== "unreact") return;
  const name = `${request.target.id} ${request.userId}`;
  const isReplaced = request.op === "react" && request.exclusive;
  const all = new Set(isReplaced ? [] : reacts.get(name));
  if (request.op === "react") all.add(request.kind);
  else all.delete(request.kind);
  reacts.set(name, all);
}

/** Marks notifications as read or unread, or dismisses them, until the likes have ended. */
async function reads(log: RequestLog, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    const inbox = await inboxOf(direct.deps, log.ownerId);
    await sleep(5 + upTo(60));
    const version = Math.max(1, inbox.version - (random() < 0.5 ? 0 : upTo(25)));
    if (inbox.version === 0) continue;
    for (const { target, kind, generation } of await namesOf(log, "UNREAD")) {
      if (random() < 0.5) continue;
      const op = random() < 0.2 ? "dismiss" : "read";
      await sendUntilAnswered(anyProcess(), log, { op, target, kind, generation, version });
    }
    for (const { target, kind, generation } of await namesOf(log, "READ")) {
      const name = { target, kind, generation };
      const drawn = random();
      if (drawn < 0.1) await sendUntilAnswered(anyProcess(), log, { op: "unread", ...name });
      if (drawn < 0.95) continue;
      await sendUntilAnswered(anyProcess(), log, { op: "dismiss", ...name, version });
    }
  }
}

/** The names of the latest notifications of an owner. */
async function namesOf({ ownerId }: RequestLog, state: "UNREAD" | "READ") {
  const page = { size: 10, cursor: undefined };
  const { items } = await listNotifications(direct.deps, { ownerId, state, kinds: [] }, page);
  return items.map(({ id }) => id);
}

/** Takes back an event of an owner: few requests may draw none. */
async function retractOne(log: RequestLog, callers: readonly Caller[]): Promise<void> {
  const [request] = callers.flatMap(({ events }) => events.get(log.ownerId) ?? []);
  if (request) await sendUntilAnswered(anyProcess(), log, request);
}

/** Deletes a target while the likes go on. */
const remove = (log: RequestLog, target: TargetName): Promise<Answer> =>
  sendUntilAnswered(anyProcess(), log, { op: "delete", target });

/** Mutes a kind and a target of every owner, between two halves of the likes. */
async function mute(log: RequestLog): Promise<void> {
  const requests: Request[] = [
    {
      op: "prefer",
      preferences: { allMuted: false, mutedKinds: ["constructor"], mutedEventKinds: [] },
    },
    { op: "mute", target: log.targets[1] as TargetName, muted: true },
  ];
  for (const request of requests) await sendUntilAnswered(anyProcess(), log, request);
  const { version } = await inboxOf(direct.deps, log.ownerId);
  Object.assign(log.between, { version, requests });
}

/** What an owner has before the first of these people is blocked. */
interface Blocks {
  readonly version: number;
  readonly records: StoredReactions;
  readonly userIds: readonly string[];
}

/** Blocks some people of the owner's notifications, each through both processes at once. */
async function block(log: RequestLog, callers: readonly Caller[]): Promise<Blocks> {
  const { ownerId } = log;
  const { version } = await inboxOf(direct.deps, ownerId);
  const records = await recordsOf(log);
  const filter = { ownerId, state: "ALL", kinds: [] } as const;
  const { items } = await listNotifications(direct.deps, filter, { size: 10, cursor: undefined });
  const members = items.flatMap((each) => [...each.firstMembers, ...each.latestMembers]);
  const userIds = [...new Set(members.map(({ userId }) => userId))].slice(0, 2);
  for (const userId of userIds) {
    const request = { op: "block", userId } as const;
    await Promise.all(
      processes.map(({ deps }) => patiently(() => answerTo(deps, ownerId, request))),
    );
    const caller = callers.find((each) => userId.startsWith(`user-${each.caller}-`)) as Caller;
    caller.muted.add(`${ownerId} ${userId}`);
  }
  return { version, records, userIds };
}

/** The records of the owner's targets by their versions. */
async function recordsOf({ targets }: RequestLog): Promise<StoredReactions> {
  const records = targets.flatMap((target) =>
    [...kinds, comments].map((kind) =>
      allItems((page) => direct.deps.reader.reactions({ target, kind }, page)),
    ),
  );
  return new Map((await Promise.all(records)).flat().map((record) => [record.version, record]));
}

/** Compares what can be read with the oracle, and with the last requests of each user. */
async function check(log: RequestLog, callers: readonly Caller[], blocks: Blocks) {
  const deleted = log.targets.slice(3);
  const { targets } = log;
  const plain = { targets, kinds, filter: [], viewerId: "user-0-0", names: [], userIds: [] };
  for (const target of deleted) await purge(direct.deps, target);
  const { unread, read } = await show(direct.deps, log.ownerId, plain);
  const selection = { ...plain, names: [...unread, ...read] };
  const shown = await show(direct.deps, log.ownerId, selection);
  const oracle = applyAll(log, blocks.version, blocks.records);
  for (const userId of blocks.userIds) oracle.apply({ op: "block", userId }, 0);
  for (const target of deleted) {
    oracle.apply({ op: "delete", target }, 0);
    oracle.purge(target);
  }
  for (const { caller, muted } of callers) {
    for (let i = 0; i < usersEach; i++) {
      const userId = `user-${caller}-${i}`;
      const isMuted = muted.has(`${log.ownerId} ${userId}`);
      oracle.apply({ op: "mutePerson", userId, muted: isMuted }, 0);
    }
  }
  const again = oracle.unread.filter((each) => each.again).map(nameText);
  checkSums(shown, again);
  expect(shown).toEqual(oracle.shown(selection, Date.now()));
  for (const [i, target] of log.targets.slice(0, 3).entries()) {
    for (const kind of kinds) {
      const { counts, reactors } = shown.targets[i] as Shown["targets"][0];
      const liked = callers.flatMap(({ reacts }) =>
        [...reacts].filter(([name, all]) => all.has(kind) && name.startsWith(`${target.id} `)),
      );
      const userIds = (reactors[kind] as string[]).map((one) => one.split(" ")[0]);
      expect(userIds.toSorted()).toEqual(liked.map(([name]) => name.split(" ")[1]).sort());
      expect(Object.hasOwn(counts, kind) ? counts[kind] : 0).toBe(userIds.length);
    }
  }
  expect(shown.mutedPeople.length).toBeGreaterThan(0);
  return { shown, oracle };
}

test(`${operations} requests while owners keep reading, muting and deleting`, async () => {
  const logs = ownerIds.map(
    (ownerId): RequestLog => ({
      ownerId,
      targets: targetsOf(ownerId),
      acknowledged: new Map(),
      possible: new Map(),
      between: { version: 0, requests: [] },
    }),
  );
  for (const { ownerId, targets } of logs) {
    for (const target of targets) {
      await answerTo(direct.deps, ownerId, { op: "register", target, title: "" });
    }
  }
  proxy.capture(true);
  const faults = { lostAnswer: 0.05, conflict: 0.05, throttle: 0.05, serverError: 0.05 };
  proxy.faults({ ...faults, delay: 0.2, delayMs: [1, 20] });
  proxy.isolation(itemByItem);
  const ended = new AbortController();
  const readers = logs.map((log) => reads(log, ended.signal));
  const all = Array.from(
    { length: callers },
    (_, caller): Caller => ({
      caller,
      reacts: new Map(),
      muted: new Set(),
      events: new Map(),
      sent: 0,
    }),
  );
  const share = Math.ceil(operations / callers / 3);
  const round = () => Promise.all(all.map((caller) => send(logs, caller, share)));
  const likes = async () => {
    await round();
    await Promise.all(logs.map(mute));
    await Promise.all([round(), ...logs.map((log) => remove(log, log.targets[4] as TargetName))]);
    await Promise.all([round(), ...logs.map((log) => remove(log, log.targets[3] as TargetName))]);
    await Promise.all(logs.map((log) => retractOne(log, all)));
  };
  await likes().finally(() => ended.abort());
  await Promise.all(readers);
  await settle(processes, proxy);
  const blocks = await Promise.all(logs.map((log) => block(log, all)));
  proxy.capture(false);
  const counted = proxy.stats().faults;
  proxy.faults({});
  proxy.isolation(undefined);
  await settle(processes, proxy);
  for (const fault of ["lostAnswer", "conflict", "throttle", "serverError"] as const) {
    expect(counted[fault]).toBeGreaterThan(operations / 150);
  }

  let marked = 0;
  let blocked = 0;
  const dismissed: string[] = [];
  for (const [i, log] of logs.entries()) {
    const before = blocks[i] as Blocks;
    const { shown, oracle } = await check(log, all, before);
    marked += shown.read.length;
    blocked += shown.badge.version - before.version;
    for (const { target, kind, version } of oracle.dismissed) {
      dismissed.push(`${[log.ownerId, kind, target.type, target.id].join("#")} ${version}`);
    }
  }
  expect(blocked).toBeGreaterThanOrEqual(logs.length);
  const itemsIn = (table: Parameters<typeof names>[0]) => itemsOf(clients.retrying, names(table));
  const [reactions, notifications] = [await itemsIn("reactions"), await itemsIn("notifications")];
  audit({ reactions, notifications }, dismissed);
  expect(dismissed.length).toBeGreaterThan(0);
  // Some events are retracted, and some stay.
  const reported = notifications.filter(({ pk }) => pk?.S?.startsWith("E#"));
  const retracted = reported.filter(({ r }) => r).length;
  expect(retracted).toBeGreaterThan(0);
  expect(reported.length).toBeGreaterThan(retracted);
  expect(marked).toBeGreaterThan(operations / 30);

  const written = proxy.captured().flatMap(({ operation, request }) => {
    if (operation !== "TransactWriteItems") return [];
    const { TransactItems } = request as { TransactItems: { Put?: { Item: Item } }[] };
    return TransactItems.flatMap(({ Put }) => (Put ? [itemSize(Put.Item)] : []));
  });
  expect(written.length).toBeGreaterThan(operations);
  expect(Math.max(...written)).toBeLessThan(1_024);
});
