/**
 * Likes, unlikes and mark-reads of many users, sent through two processes to a store with faults.
 * Afterwards the oracle applies all acknowledged requests in the order of their versions, and
 * everything that can be read has to equal it.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Item } from "../../bench/capacity.ts";
import { inboxOf } from "../../src/app/notifications/commands.ts";
import type { Deps } from "../../src/app/ports/deps.ts";
import type { TransactionRequest } from "../../src/app/ports/engine.ts";
import { DomainError } from "../../src/domain/errors.ts";
import type { Inbox } from "../../src/domain/notification.ts";
import { type Clients, createClients } from "../../src/store/dynamodb/sdk/client.ts";
import { itemSize } from "../../src/store/dynamodb/sdk/item-size.ts";
import { createTables, tableName } from "../../src/store/dynamodb/tables.ts";
import { type Process, startProcess } from "../support/models/fault-workload.ts";
import { randomFrom } from "../support/models/random.ts";
import { answerTo, show } from "../support/models/reactions-memory.ts";
import { checkSums, keptMs } from "../support/models/reactions-model.ts";
import {
  type Answer,
  Oracle,
  type Request,
  type Shown,
  type TargetName,
} from "../support/models/reactions-oracle.ts";
import { deleteTables } from "../support/stores/delete-tables.ts";
import { itemByItem } from "../support/stores/dynamo-isolation.ts";
import { type DynamoProxy, startDynamoProxy } from "../support/stores/dynamo-proxy.ts";

const seed = 20_261_121;
const operations = 5_000;
const callers = 32;
const usersEach = 6;
const kind = "like";

const ownerIds = Array.from({ length: 4 }, (_, i) => `owner-${i}`);
const targetsOf = (ownerId: string): TargetName[] =>
  Array.from({ length: 5 }, (_, i) => ({ type: "comment", id: `${ownerId}-${i}` }));

const upstream = inject("dynamodbEndpoint");
const names = tableName(`likes-${randomUUID().slice(0, 8)}-`);
let clients: Clients;
let proxy: DynamoProxy;
let direct: Process;
let processes: Process[];

beforeAll(async () => {
  clients = createClients({ endpoint: upstream, region: "ap-northeast-1" });
  await createTables(clients.retrying, names);
  proxy = await startDynamoProxy({ upstream, seed });
  direct = startProcess(upstream, names);
  processes = [1, 2].map(() => startProcess(proxy.endpoint, names));
});

afterAll(async () => {
  for (const each of [direct, ...processes]) each.close();
  await proxy.stop();
  await deleteTables(clients.retrying, names);
  clients.close();
});

/** The requests of one owner by the version of the inbox that they took. */
interface RequestLog {
  readonly ownerId: string;
  readonly acknowledged: Map<number, Request>;
  /**
   * Requests with an ambiguous result that a retry found done, by each version they had tried. Two
   * of them may have tried the same version, which one of them took.
   */
  readonly foundDone: Map<number, Request[]>;
}

/** Dependencies that record the version that a change took, and the versions that it tried. */
function recordVersions(deps: Deps) {
  const recorded = { taken: 0, tried: [] as number[] };
  const versionOf = (result: unknown) => {
    const { changed, inbox } = result as { changed?: boolean; inbox?: Inbox };
    return (changed && inbox?.version) || 0;
  };
  const transact = async <R>(request: TransactionRequest<R>): Promise<R> => {
    const result = await deps.engine.transact({
      ...request,
      decide(tx, now) {
        const decided = request.decide(tx, now);
        recorded.tried.push(versionOf(decided));
        return decided;
      },
    });
    recorded.taken = versionOf(result);
    return result;
  };
  return { recorded, deps: { ...deps, engine: { transact } } };
}

/** Sends a request until it is answered, as clients do, and logs the version that it took. */
async function sendUntilAnswered(deps: Deps, log: RequestLog, request: Request): Promise<Answer> {
  // The lists themselves, because a call that was given up may still be decided and committed.
  const ambiguous: (readonly number[])[] = [];
  for (;;) {
    const { recorded, deps: recording } = recordVersions(deps);
    try {
      const answer = await answerTo(recording, log.ownerId, request);
      const { taken } = recorded;
      if (taken > 0) {
        expect(log.acknowledged.get(taken), `${taken} of ${log.ownerId}`).toBeUndefined();
        log.acknowledged.set(taken, request);
      } else {
        for (const version of ambiguous.flat()) {
          log.foundDone.set(version, [...(log.foundDone.get(version) ?? []), request]);
        }
      }
      return answer;
    } catch (error) {
      if (!(error instanceof DomainError) || !error.retryable) throw error;
      ambiguous.push(recorded.tried);
    }
  }
}

const random = randomFrom(seed);
const upTo = (limit: number) => Math.floor(random() * limit);
const anyProcess = () => (processes[upTo(processes.length)] as Process).deps;

/** Likes and unlikes of one caller's users, some of them sent to both processes at once. */
async function likes(logs: readonly RequestLog[], caller: number, isLiked: Map<string, boolean>) {
  for (let i = 0; i < operations / callers; i++) {
    // A quarter goes to one comment.
    const log = logs[random() < 0.25 ? 0 : upTo(logs.length)] as RequestLog;
    const target = targetsOf(log.ownerId)[random() < 0.5 ? 0 : upTo(5)] as TargetName;
    const userId = `user-${caller}-${upTo(usersEach)}`;
    const reacts = random() < 0.6;
    const named = { target, kind, userId };
    const request: Request = reacts
      ? { op: "react", ...named, actorName: `${userId} ${i}` }
      : { op: "unreact", ...named };
    const receivers = random() < 0.1 ? processes.map(({ deps }) => deps) : [anyProcess()];
    const answers = await Promise.all(
      receivers.map((deps) => sendUntilAnswered(deps, log, request)),
    );
    const changes = answers.filter((answer) => "changed" in answer && answer.changed);
    expect(changes.length).toBeLessThanOrEqual(1);
    isLiked.set(`${target.id} ${userId}`, reacts);
  }
}

/** Marks groups as read at a recent version, until the likes have ended. */
async function reads(log: RequestLog, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    const inbox = await inboxOf(direct.deps, log.ownerId);
    await sleep(5 + upTo(60));
    const version = Math.max(1, inbox.version - (random() < 0.5 ? 0 : upTo(25)));
    if (inbox.version === 0) continue;
    for (const target of targetsOf(log.ownerId)) {
      if (random() < 0.5) continue;
      await sendUntilAnswered(anyProcess(), log, { op: "read", target, kind, version });
    }
  }
}

function changes(oracle: Oracle, request: Request): boolean {
  const answer = oracle.copy().apply(request, 0);
  return "changed" in answer && answer.changed;
}

/** The oracle after all requests of an owner, in the order of their versions. */
function applyAll({ ownerId, acknowledged, foundDone }: RequestLog, last: number): Oracle {
  const oracle = new Oracle({ ownerId, keptMs });
  for (const target of targetsOf(ownerId)) oracle.apply({ op: "register", target, title: "" }, 0);
  for (let version = 1; version <= last; version++) {
    const known = acknowledged.get(version);
    const candidates = known ? [known] : (foundDone.get(version) ?? []);
    const request = candidates.find((each) => changes(oracle, each));
    const requests = JSON.stringify(candidates);
    expect(request, `what has taken ${version} of ${ownerId}: ${requests}`).toBeDefined();
    oracle.apply(request as Request, 0);
  }
  expect(Math.max(0, ...acknowledged.keys())).toBeLessThanOrEqual(last);
  return oracle;
}

const withoutTimes = ({ unread, read, ...rest }: Shown) => ({
  ...rest,
  unread: unread.map((group) => ({ ...group, times: [] })),
  read: read.map((group) => ({ ...group, times: [] })),
});

test("5,000 likes and unlikes of 20 targets while owners keep reading", async () => {
  console.info(`seed of the workload: ${seed}`);
  const logs = ownerIds.map(
    (ownerId): RequestLog => ({ ownerId, acknowledged: new Map(), foundDone: new Map() }),
  );
  for (const ownerId of ownerIds) {
    for (const target of targetsOf(ownerId)) {
      await answerTo(direct.deps, ownerId, { op: "register", target, title: "" });
    }
  }
  proxy.capture(true);
  const faults = { lostAnswer: 0.05, conflict: 0.05, throttle: 0.05, serverError: 0.05 };
  proxy.faults({ ...faults, delay: 0.2, delayMs: [1, 20] });
  proxy.isolation(itemByItem);
  const isLiked = new Map<string, boolean>();
  const ended = new AbortController();
  const readers = logs.map((log) => reads(log, ended.signal));
  const all = Array.from({ length: callers }, (_, i) => likes(logs, i, isLiked));
  await Promise.all(all).finally(() => ended.abort());
  await Promise.all(readers);
  proxy.capture(false);
  const counted = proxy.stats().faults;
  proxy.faults({});
  proxy.isolation(undefined);
  // Calls that were given up may still be on their way.
  await sleep(500);
  for (const fault of ["lostAnswer", "conflict", "throttle", "serverError"] as const) {
    expect(counted[fault]).toBeGreaterThan(10);
  }

  let marked = 0;
  for (const log of logs) {
    const { ownerId } = log;
    const selection = { targets: targetsOf(ownerId), kinds: [kind], viewerId: "user-0-0" };
    const shown = await show(direct.deps, ownerId, selection);
    checkSums(shown);
    expect(withoutTimes(shown)).toEqual(
      withoutTimes(applyAll(log, shown.badge.version).shown(selection, 0)),
    );
    // The same once more, by the last request of each user: who likes the target.
    for (const [i, target] of selection.targets.entries()) {
      const { counts, reactors } = shown.targets[i] as Shown["targets"][0];
      const liked = [...isLiked].filter(([name, is]) => is && name.startsWith(`${target.id} `));
      const userIds = (reactors[kind] as string[]).map((one) => one.split(" ")[0]);
      expect(userIds.toSorted()).toEqual(liked.map(([name]) => name.split(" ")[1]).sort());
      expect(counts[kind] ?? 0).toBe(userIds.length);
    }
    for (const { peopleCount, actors } of shown.unread) expect(peopleCount).toBe(actors.length);
    marked += shown.read.length;
  }
  expect(marked).toBeGreaterThan(50);

  const written = proxy.captured().flatMap(({ operation, request }) => {
    if (operation !== "TransactWriteItems") return [];
    const { TransactItems } = request as { TransactItems: { Put?: { Item: Item } }[] };
    return TransactItems.flatMap(({ Put }) => (Put ? [itemSize(Put.Item)] : []));
  });
  expect(written.length).toBeGreaterThan(operations);
  expect(Math.max(...written)).toBeLessThan(1_024);
}, 300_000);
