/**
 * Many people who like and unlike while owners keep reading, by two processes on a store that has a
 * bad day. Afterwards what was acknowledged, put into the order of its numbers, is played to the
 * oracle: everything that can be seen has to be as it says.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DeleteTableCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Item } from "../../bench/capacity.ts";
import { inboxOf } from "../../src/app/notifications/commands.ts";
import type { Deps } from "../../src/app/ports/deps.ts";
import type { TransactionRequest } from "../../src/app/ports/engine.ts";
import { DomainError } from "../../src/domain/errors.ts";
import type { Inbox } from "../../src/domain/notification.ts";
import { type Clients, createClients } from "../../src/store/dynamodb/sdk/client.ts";
import { itemSize } from "../../src/store/dynamodb/sdk/item-size.ts";
import { createTables, tableName, tables } from "../../src/store/dynamodb/tables.ts";
import { type Process, startProcess } from "../support/models/fault-workload.ts";
import { randomFrom } from "../support/models/random.ts";
import { ask, show } from "../support/models/reactions-memory.ts";
import { checkSums, keptMs } from "../support/models/reactions-model.ts";
import {
  type Answer,
  type Name,
  Oracle,
  type Request,
  type Shown,
} from "../support/models/reactions-oracle.ts";
import { itemByItem } from "../support/stores/dynamo-isolation.ts";
import { type DynamoProxy, startDynamoProxy } from "../support/stores/dynamo-proxy.ts";

const seed = 20_261_121;
const operations = 5_000;
const callers = 32;
const usersEach = 6;
const kind = "like";

const ownerIds = Array.from({ length: 4 }, (_, i) => `owner-${i}`);
const targetsOf = (ownerId: string): Name[] =>
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
  for (const { TableName } of tables(names)) {
    await clients.retrying.send(new DeleteTableCommand({ TableName }));
  }
  clients.close();
});

/** What is known of one owner's number line. */
interface Line {
  readonly owner: string;
  /** What was acknowledged, by its number. */
  readonly done: Map<number, Request>;
  /** What was given up with this number, and turned out to be done when it was sent again. */
  readonly found: Map<number, Request>;
}

/** The use cases, telling the number that a change has got, and those that it might have got. */
function noting(deps: Deps) {
  const noted = { given: 0, tried: [] as number[] };
  const numberOf = (result: unknown) => {
    const { changed, inbox } = result as { changed?: boolean; inbox?: Inbox };
    return (changed && inbox?.version) || 0;
  };
  const transact = async <R>(call: TransactionRequest<R>): Promise<R> => {
    const result = await deps.engine.transact({
      ...call,
      decide(tx, now) {
        const decided = call.decide(tx, now);
        noted.tried.push(numberOf(decided));
        return decided;
      },
    });
    noted.given = numberOf(result);
    return result;
  };
  return { noted, deps: { ...deps, engine: { transact } } };
}

/** Sends until there is an answer, as clients do, and writes down which number it got. */
async function until(deps: Deps, line: Line, request: Request): Promise<Answer> {
  // A call that was given up is decided, and may be committed, for a while yet.
  const given: (readonly number[])[] = [];
  for (;;) {
    const { noted, deps: watched } = noting(deps);
    try {
      const answer = await ask(watched, line.owner, request);
      if (noted.given > 0) {
        expect(line.done.get(noted.given), `${noted.given} of ${line.owner}`).toBeUndefined();
        line.done.set(noted.given, request);
      } else {
        for (const n of given.flat()) line.found.set(n, request);
      }
      return answer;
    } catch (error) {
      if (!(error instanceof DomainError) || !error.retryable) throw error;
      given.push(noted.tried);
    }
  }
}

const random = randomFrom(seed);
const upTo = (limit: number) => Math.floor(random() * limit);
const anyProcess = () => (processes[upTo(processes.length)] as Process).deps;

/** One caller's people like and unlike, one after another, sometimes by both processes at once. */
async function likes(lines: readonly Line[], caller: number, standing: Map<string, boolean>) {
  for (let i = 0; i < operations / callers; i++) {
    // A quarter goes to one comment.
    const line = lines[random() < 0.25 ? 0 : upTo(lines.length)] as Line;
    const target = targetsOf(line.owner)[random() < 0.5 ? 0 : upTo(5)] as Name;
    const userId = `user-${caller}-${upTo(usersEach)}`;
    const reacts = random() < 0.6;
    const named = { target, kind, userId };
    const request: Request = reacts
      ? { op: "react", ...named, actorName: `${userId} ${i}` }
      : { op: "unreact", ...named };
    const twins = random() < 0.1 ? processes.map(({ deps }) => deps) : [anyProcess()];
    const answers = await Promise.all(twins.map((deps) => until(deps, line, request)));
    const changes = answers.filter((answer) => "changed" in answer && answer.changed);
    expect(changes.length).toBeLessThanOrEqual(1);
    standing.set(`${target.id} ${userId}`, reacts);
  }
}

/** Reads at what was there a moment ago, some of it or all of it, until the storm is over. */
async function reads(line: Line, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const inbox = await inboxOf(direct.deps, line.owner);
    await sleep(5 + upTo(60));
    const version = Math.max(1, inbox.version - (random() < 0.5 ? 0 : upTo(25)));
    if (inbox.version === 0) continue;
    for (const target of targetsOf(line.owner)) {
      if (random() < 0.5) continue;
      await until(anyProcess(), line, { op: "read", target, kind, version });
    }
  }
}

/** What the oracle makes of all that has happened to an owner. */
function replay({ owner: ownerId, done, found }: Line, last: number): Oracle {
  const oracle = new Oracle({ ownerId, keptMs });
  for (const target of targetsOf(ownerId)) oracle.apply({ op: "register", target, title: "" }, 0);
  for (let n = 1; n <= last; n++) {
    const request = done.get(n) ?? found.get(n);
    expect(request, `what has taken ${n} of ${ownerId}`).toBeDefined();
    const answer = oracle.apply(request as Request, 0);
    expect(answer, `${n} of ${ownerId}: ${JSON.stringify(request)}`).toMatchObject({
      changed: true,
    });
  }
  expect(Math.max(0, ...done.keys())).toBeLessThanOrEqual(last);
  return oracle;
}

const withoutTimes = ({ unread, read, ...rest }: Shown) => ({
  ...rest,
  unread: unread.map((group) => ({ ...group, times: [] })),
  read: read.map((group) => ({ ...group, times: [] })),
});

test("5,000 likes and unlikes of 20 targets while owners keep reading", async () => {
  console.info(`seed of the storm: ${seed}`);
  const lines = ownerIds.map(
    (ownerId): Line => ({ owner: ownerId, done: new Map(), found: new Map() }),
  );
  for (const ownerId of ownerIds) {
    for (const target of targetsOf(ownerId)) {
      await ask(direct.deps, ownerId, { op: "register", target, title: "" });
    }
  }
  proxy.capture(true);
  const faults = { lostAnswer: 0.05, conflict: 0.05, throttle: 0.05, serverError: 0.05 };
  proxy.faults({ ...faults, delay: 0.2, delayMs: [1, 20] });
  proxy.isolation(itemByItem);
  const standing = new Map<string, boolean>();
  const over = new AbortController();
  const readers = lines.map((line) => reads(line, over.signal));
  const all = Array.from({ length: callers }, (_, i) => likes(lines, i, standing));
  await Promise.all(all).finally(() => over.abort());
  await Promise.all(readers);
  proxy.capture(false);
  const counted = proxy.stats().faults;
  proxy.faults({});
  proxy.isolation(undefined);
  // What was given up may still be on its way.
  await sleep(500);
  for (const fault of ["lostAnswer", "conflict", "throttle", "serverError"] as const) {
    expect(counted[fault]).toBeGreaterThan(10);
  }

  let marked = 0;
  for (const line of lines) {
    const { owner: ownerId } = line;
    const sight = { targets: targetsOf(ownerId), kinds: [kind], viewerId: "user-0-0" };
    const shown = await show(direct.deps, ownerId, sight);
    checkSums(shown);
    expect(withoutTimes(shown)).toEqual(
      withoutTimes(replay(line, shown.badge.version).shown(sight, 0)),
    );
    // Told once more, by the rows alone: who likes, and who of them is still unread.
    for (const [i, target] of sight.targets.entries()) {
      const { counts, reactors } = shown.targets[i] as Shown["targets"][0];
      const liked = [...standing].filter(([name, is]) => is && name.startsWith(`${target.id} `));
      const people = (reactors[kind] as string[]).map((one) => one.split(" ")[0]);
      expect(people.toSorted()).toEqual(liked.map(([name]) => name.split(" ")[1]).sort());
      expect(counts[kind] ?? 0).toBe(people.length);
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
