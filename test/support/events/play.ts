/**
 * Plays changes of all services while the events processes are disturbed, and compares the copies
 * of those who read events with the tables.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import { expect } from "vitest";
import { react } from "../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { createReservation } from "../../../src/reservations/use-cases/commands.ts";
import { submit } from "../fixtures/bulk-steps.ts";
import { eventually } from "../fixtures/waiting.ts";
import { programId } from "../models/bulk-use-cases.ts";
import { randomFrom } from "../models/random.ts";
import { send } from "../models/restore-play.ts";
import { begin, createWorkload, owners, type Step } from "../models/restore-workload.ts";
import { differences } from "./compare.ts";
import { killSome, stealLease } from "./disturbances.ts";
import type { EventsStack } from "./events-stack.ts";
import { actOnInbox } from "./inbox-acts.ts";

interface PlayOptions {
  readonly seed: number;
  /** Accounts that get points, beside those of the workload. */
  readonly accounts: number;
  /** Steps of the workload. */
  readonly steps: number;
}

const limits = { below: [9_990, 10_000], above: [9, 10_000, 10_010] };

/** How many accounts get points at a time. */
const concurrency = 16;

/** While events are missing, another one comes within this time on a busy machine. */
const patienceMs = 150_000;

/** Between two looks at what has come, which compare all of it. */
const pauseMs = 200;

/** Plays everything while the events processes are killed so often, and one is overtaken. */
export async function playKills(stack: EventsStack, options: PlayOptions & { kills: number }) {
  const { deps } = stack.server;
  const random = randomFrom(options.seed);
  await start(stack);
  const over = new AbortController();
  const traffic = [
    playSteps(deps, random, createWorkload(random, options.steps)),
    grantEverybody(deps, options.accounts),
    grantMore(deps, over.signal),
  ];
  const last = await killSome(stack, random, options.kills);
  await stealLease(stack, last);
  over.abort();
  await Promise.all(traffic);
  return compare(stack);
}

/** Plays a half before an outage whose streams `lose` replaces, and the other half during it. */
export async function playOutage(
  stack: EventsStack,
  options: PlayOptions,
  lose: () => Promise<void>,
) {
  const { deps } = stack.server;
  const random = randomFrom(options.seed);
  await start(stack);
  const steps = createWorkload(random, options.steps);
  const half = Math.ceil(steps.length / 2);
  await playSteps(deps, random, steps.slice(0, half));
  await mark(stack, "before");
  const startAgain = await Promise.all(stack.processes.map(({ faults }) => faults.killed?.()));
  await playSteps(deps, random, steps.slice(half));
  await grantEverybody(deps, options.accounts);
  await lose();
  await Promise.all(startAgain.map((one) => one?.()));
  return compare(stack);
}

/** Begins with the program, so that each crossing of the ledgers is an event. */
async function start(stack: EventsStack): Promise<void> {
  const { deps, programs } = stack.server;
  await createProgram(deps, { programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
  const balanceLimits = { below: limits.below.map(BigInt), above: limits.above.map(BigInt) };
  await programs.updateProgram({ program: { programId, balanceLimits } });
  await stack.begin();
  await begin(deps);
}

/** Waits until everybody has everything. Returns what is wrong, and what there was. */
async function compare(stack: EventsStack) {
  const { copies, receiver } = stack;
  receiver.recover();
  await mark(stack, "after");
  await awaitAll(stack);
  const surprises = await stack.end();
  const tables = await stack.readTables();
  const ofProgram = new Map([[programId, limits]]);
  const all = Object.entries(copies);
  return {
    wrong: [
      ...surprises,
      ...all.flatMap(([name, copy]) =>
        differences(copy, tables, ofProgram).map((what) => `${name}: ${what}`),
      ),
    ],
    tables,
    counts: Object.fromEntries(all.map(([name, { counts }]) => [name, counts])),
    receiver: receiver.counts,
  };
}

async function playSteps(
  deps: Deps,
  random: () => number,
  steps: readonly Step[][],
): Promise<void> {
  for (const together of steps) {
    await send(deps, [together]);
    const ownerId = owners[random() < 0.5 ? 0 : 1] as string;
    if (random() < 0.3) await actOnInbox(deps, random, ownerId);
  }
}

const grant = (deps: Deps, userId: string, eventId: string, points: number) =>
  grantPoints(deps, {
    ...{ programId, userId, eventId, points, reason: "why" },
    ...{ caller: asService("shop"), deadline: undefined },
  });

/** Grants twice to each of so many accounts, the second time over a limit. */
async function grantEverybody(deps: Deps, accounts: number): Promise<void> {
  const limit = pLimit(concurrency);
  const users = Array.from({ length: accounts }, (_, i) => `user-${i}`);
  const both = async (userId: string) => {
    await grant(deps, userId, "first", 5);
    await grant(deps, userId, "second", 5);
  };
  await Promise.all(users.map((userId) => limit(() => both(userId))));
}

/** Grants to one account until it is over, so that something happens at each fault. */
async function grantMore(deps: Deps, over: AbortSignal): Promise<void> {
  for (let i = 0; !over.aborted; i++) {
    await grant(deps, "busy", `more-${i}`, 1);
    await sleep(20, undefined, { signal: over }).catch(() => {});
  }
}

/** Subscriptions deliver different subjects in any order, so no marker shows that all have come. */
const awaitAll = ({ copies, readTail, surprises }: EventsStack): Promise<void> =>
  awaitProgress(() => {
    expect([...surprises]).toEqual([]);
    readTail();
    const wanted = [...copies.read.ids()];
    const others = Object.entries(copies).filter(([, copy]) => copy !== copies.read);
    return {
      missing: others.flatMap(([name, copy]) => {
        const taken = copy.ids();
        return wanted.filter((id) => !taken.has(id)).map((id) => `${name}: ${id}`);
      }),
      events: others.reduce((sum, [, { counts }]) => sum + counts.events, 0),
    };
  });

/**
 * Waits until nothing is missing, for as long as more events come: how long all of them take
 * depends on the machine.
 */
async function awaitProgress(
  look: () => { readonly missing: readonly string[]; readonly events: number },
): Promise<void> {
  for (let before = -1; ; ) {
    const { missing, events } = await eventually(async () => {
      const found = look();
      const isOver = found.missing.length === 0 || found.events > before;
      expect(isOver ? [] : found.missing.slice(0, 5)).toEqual([]);
      return found;
    }, patienceMs);
    if (missing.length === 0) return;
    before = events;
    await sleep(pauseMs);
  }
}

/**
 * Changes each table, and waits until the consumer has the events. The stream of a table of
 * DynamoDB Local has one shard at a time, so whoever has the event of the mark has all before it.
 * Not while a gap is open: the table may have the mark before other changes.
 */
async function mark(stack: EventsStack, id: string): Promise<void> {
  const { deps } = stack.server;
  await grant(deps, id, id, 1);
  const executeTime = Date.now() + 86_400_000;
  const caller = asService("shop");
  const input = { programId, reservationId: id, userId: id, points: 1, reason: "" };
  await createReservation(deps, { ...input, caller, executeTime });
  await submit(deps, id, { [id]: 1 });
  const target = { type: "mark", id };
  await registerTarget(deps, { target, ownerId: id, title: "", link: "" });
  await react(deps, { target, kind: "like", userId: "fan", displayName: "fan" });
  await awaitMark(stack, id);
}

const awaitMark = ({ copies, surprises }: EventsStack, id: string): Promise<void> =>
  awaitProgress(() => {
    expect([...surprises]).toEqual([]);
    const { records, counts } = copies.read;
    const names = [...records.keys()];
    const wanted = [
      `account ${programId}/${id}`,
      `reservation ${programId}/${id}`,
      `bulk grant ${programId}/${id}`,
      `target mark/${id}`,
      `notification ${id} `,
    ];
    const missing = wanted.filter((start) => !names.some((name) => name.startsWith(start)));
    const reactions = records.get(`target mark/${id}`)?.number === 2 ? [] : ["the reaction"];
    const gaps = copies.read.openGaps().map((table) => `the end of the gap of ${table}`);
    return { missing: [...missing, ...reactions, ...gaps], events: counts.events };
  });
