/** Plays random histories of two owners' targets against the service and the oracle. */
import { deepStrictEqual, fail, ok } from "node:assert";
import type { Scheduler } from "fast-check";
import type { Fault } from "../stores/memory-store.ts";
import { distinct, keepRight } from "./reactions-candidates.ts";
import { Oracle } from "./reactions-oracle.ts";
import { explain } from "./reactions-order.ts";
import {
  type Answer,
  type EventRequest,
  isEvents,
  isSame,
  type NotificationName,
  nameText,
  noTarget,
  type Refused,
  type Request,
  type RequestOf,
  type TargetName,
} from "./reactions-requests.ts";
import { requestOf } from "./reactions-resolve.ts";
import type { Selection, Shown } from "./reactions-shown.ts";
import {
  type Call,
  type EventTemplate,
  kinds,
  moreKinds,
  type RequestTemplate,
  type Step,
  userIds,
} from "./reactions-templates.ts";

const hour = 3_600_000;

/** How long the service under test keeps read notifications and the ids of events. */
export const keptMs = 90 * 24 * hour;

/** What a caller leaves to the service. */
const usual = { coolDownHours: undefined, regroupAfterHours: undefined };
const usualRules = { coolDownMs: undefined, regroupAfterMs: undefined };

/** The kinds of the filtered lists. */
const filters = [[], ["like"], ["constructor", "~comment"], ["~like"], ["like", "~like", "other"]];

/** The largest number of notifications that a concurrent mark-all may read. */
const mostRead = 5;

/** The system under test: it gets the requests of a history. */
export interface System {
  /** Leaves out what this system does not show. */
  visible(shown: Shown): Shown;
  send(ownerId: string, request: Request, process: number): Promise<Answer>;
  /** Sends an event, or retracts it, for several owners at once, whoever owns its target. */
  sendToAll(
    ownerIds: readonly string[],
    request: EventRequest,
    process: number,
  ): Promise<readonly Answer[] | Refused>;
  show(ownerId: string, selection: Selection): Promise<Shown>;
  /** The reactions of a user, newest first. */
  reactionsOf(userId: string): Promise<readonly string[]>;
  /** Purges a deleted target. */
  purge(ownerId: string, target: TargetName): Promise<void>;
  /** Lets time pass if the system can, and returns how much has passed. */
  wait(ms: number): number;
  faults(faults: readonly Fault[]): void;
  /** Runs concurrent requests, whose reads and commits may come in any order. */
  race<T>(work: () => Promise<T>): Promise<T>;
}

interface Owner {
  readonly name: string;
  readonly targets: readonly TargetName[];
  /** At least one. */
  oracles: readonly Oracle[];
  /** Every notification that was listed, in the order of its first time. */
  readonly names: Map<string, NotificationName>;
  /** By version: the name of the notification in which a member was read. */
  readonly readIn: Map<number, string>;
  /** By version of a change: what was unread after it, as text. */
  readonly unreadAt: Map<number, string>;
}

/** One of the oracles. Which one does not matter for what was shown. */
const oracleOf = ({ oracles }: Owner): Oracle => oracles[0] as Oracle;

interface Run {
  readonly system: System;
  /** The beginning of every id, so that histories do not share records. */
  readonly prefix: string;
  readonly owners: readonly [Owner, Owner];
  kinds: readonly string[];
  now: number;
  steps: number;
}

/** Runs a history and throws at the first difference from the oracle. */
export async function play(
  steps: readonly Step[],
  { system, now, prefix }: { system: System; now: number; prefix: string },
): Promise<void> {
  const owner = (name: string, targets: TargetName[]): Owner => ({
    name: `${prefix}${name}`,
    targets,
    oracles: [new Oracle({ ownerId: `${prefix}${name}`, keptMs })],
    names: new Map<string, NotificationName>(),
    readIn: new Map<number, string>(),
    unreadAt: new Map<number, string>(),
  });
  const id = `${prefix}x`;
  // The same id with two types, which are two targets.
  const first = owner("owner-a", [
    { type: "post", id },
    { type: "comment", id },
  ]);
  const owners = [first, owner("owner-b", [{ type: "post", id: `${prefix}y` }])] as const;
  const run: Run = { system, prefix, owners, kinds, now, steps: 0 };
  for (const targetIndex of [0, 1, 2]) {
    if ((steps.length + targetIndex) % 4 === 0) continue;
    await one(run, { op: "register", targetIndex, title: 0 }, 0);
  }
  for (const each of steps) {
    await playStep(run, each);
    run.steps += 1;
    run.now += system.wait(1_000);
    followTargets(run);
    await compare(run);
  }
}

async function playStep(run: Run, step: Step): Promise<void> {
  const { system } = run;
  switch (step.step) {
    case "one":
      return one(run, step.template, step.process);
    case "together":
      return together(run, step.calls);
    case "everyone":
      return everyone(run, step.template, step.process);
    case "kinds":
      run.kinds = [...kinds, ...moreKinds];
      for (const kind of moreKinds) {
        const { targetIndex, user } = step;
        const plain = { name: 0, exclusive: false, silent: false, ...usual };
        await one(run, { op: "react", targetIndex, kind, user, ...plain }, 0);
      }
      return;
    case "crowd":
      return crowd(run, step);
    case "steal": {
      const { target, oracle } = at(run, step.targetIndex);
      if (!oracle.isRegistered(target)) return;
      const request: Request = { op: "register", target, title: "mine" };
      deepStrictEqual(await system.send("thief", request, 0), { refused: "ID_REUSED" });
      return;
    }
    case "purge":
      return purge(run, step.targetIndex);
    case "wait":
      run.now += system.wait(step.hours * hour);
      return;
    case "faults":
      return system.faults(step.faults);
  }
}

async function one(run: Run, template: RequestTemplate, process: number): Promise<void> {
  const { owner } = at(run, template.targetIndex);
  const request = resolve(run, template);
  const answer = await run.system.send(owner.name, request, process);
  keepAnswered(owner, request, answer, run.now);
  // Until then the other owner's notifications are counted, and listed no more.
  if (template.op === "delete" && concernsOthers(run, template)) {
    await purge(run, template.targetIndex);
  }
}

async function purge(run: Run, targetIndex: number): Promise<void> {
  const { owner, target } = at(run, targetIndex);
  await run.system.purge(owner.name, target);
  for (const oracle of owner.oracles) oracle.purge(target);
}

/** Applies a request to the oracles of an owner and keeps those that give its answer. */
function keepAnswered(owner: Owner, request: Request, answer: Answer, now: number): void {
  const answerBy = (oracle: Oracle) => oracle.apply(request, now);
  owner.oracles = keepRight(owner.oracles, answer, answerBy, JSON.stringify(request));
}

/** Both owners are notified of one event, or it is taken back from both. */
async function everyone(run: Run, template: EventTemplate, process: number): Promise<void> {
  const { system, owners, now } = run;
  const resolved = resolve(run, template) as EventRequest;
  // An event is retracted by its id alone.
  const request: EventRequest =
    resolved.op === "retract"
      ? { ...resolved, target: noTarget }
      : { ...resolved, namesOwners: true };
  const [a, b] = owners;
  const answer = await system.sendToAll([a.name, b.name], request, process);
  const pairs = a.oracles.flatMap((first) =>
    b.oracles.map((second) => [first.copy(), second.copy()] as const),
  );
  const answerBy = (pair: readonly Oracle[]) =>
    answerOfAll(
      request,
      pair.map((oracle) => oracle.apply(request, now)),
    );
  const right = keepRight(pairs, answer, answerBy, JSON.stringify(request));
  a.oracles = distinct(right.map(([first]) => first));
  b.oracles = distinct(right.map(([, second]) => second));
}

/** The answer for several owners, of whom each has the answer in `all` if it is asked alone. */
function answerOfAll({ op }: EventRequest, all: readonly Answer[]): readonly Answer[] | Refused {
  const refused = all.filter((each) => "refused" in each);
  // It is enough that one owner has the event that is retracted.
  const hasSome = op === "retract" && refused.length < all.length;
  return hasSome ? all.map((each) => ("refused" in each ? unchanged : each)) : (refused[0] ?? all);
}

const unchanged: Answer = { changed: false };

/** Tells each oracle what has become of the targets of the other owner. */
function followTargets({ owners: [a, b] }: Run): void {
  const follow = (all: readonly Oracle[], owner: Owner) => {
    for (const target of owner.targets) {
      for (const oracle of all) oracle.follow(target, oracleOf(owner));
    }
  };
  follow(a.oracles, b);
  follow(b.oracles, a);
}

/** New people react at the same time; the counts in the answers say in which order. */
async function crowd(run: Run, step: Step & { step: "crowd" }): Promise<void> {
  const { owner, target } = at(run, step.targetIndex);
  const { system, prefix, steps, now } = run;
  const requests = Array.from({ length: step.count }, (_, i): RequestOf<"react"> => {
    const userId = `${prefix}crowd-${steps}-${i}`;
    const plain = { exclusive: false, silent: false, ...usualRules };
    return { op: "react", target, kind: step.kind, userId, displayName: userId, ...plain };
  });
  const sent = await Promise.all(
    requests.map(async (request) => ({
      request,
      answer: await system.send(owner.name, request, step.process),
    })),
  );
  const countOf = ({ answer }: { answer: Answer }) =>
    "reactionCount" in answer ? answer.reactionCount : 0;
  for (const { request, answer } of sent.sort((a, b) => countOf(a) - countOf(b))) {
    keepAnswered(owner, request, answer, now);
  }
}

/** Sends concurrent requests: each owner's must have an order that explains all answers. */
async function together(run: Run, calls: readonly Call[]): Promise<void> {
  const sent = withOneReader(run, calls).map(({ template, process }) => {
    const { name } = at(run, template.targetIndex).owner;
    return { name, request: resolve(run, template), process };
  });
  const answers = await run.system.race(() =>
    Promise.all(sent.map(({ name, request, process }) => run.system.send(name, request, process))),
  );
  for (const owner of run.owners) {
    const answered = sent.flatMap(({ name, request }, i) =>
      name === owner.name ? [{ request, answer: answers[i] as Answer }] : [],
    );
    if (answered.length === 0) continue;
    const selection = selectionOf(run, owner);
    const shown = await run.system.show(owner.name, selection);
    const shownBy = (oracle: Oracle) => run.system.visible(oracle.shown(selection, run.now));
    const after = owner.oracles.flatMap((oracle) =>
      explain(oracle, answered, run.now, shownBy, shown),
    );
    if (after.length === 0) {
      const oracle = oracleOf(owner);
      for (const { request } of answered) oracle.apply(request, run.now);
      const inOrder = shownBy(oracle);
      fail(`no order explains it: ${JSON.stringify({ answered, shown, inOrder }, undefined, 1)}`);
    }
    owner.oracles = distinct(after);
  }
}

/** Keeps at most one mark-all, of few notifications, because the search tries every order. */
function withOneReader(run: Run, calls: readonly Call[]): Call[] {
  const notificationCountOf = ({ template }: Call) =>
    at(run, template.targetIndex).oracle.badge.notificationCount;
  const reader = calls.find(
    (call) => call.template.op === "readAll" && notificationCountOf(call) <= mostRead,
  );
  // The notification of an event that comes with a deletion is left to the purge.
  const isDeleted = calls.some(({ template }) => template.op === "delete");
  return calls.filter((call) => {
    const { op } = call.template;
    // A block consists of many changes.
    const isLeftOut = op === "readAll" || op === "block" || (isDeleted && op === "notify");
    return call === reader || !(isLeftOut || concernsOthers(run, call.template));
  });
}

/** Whether a call changes what another owner sees, who is notified of events about the target. */
function concernsOthers(run: Run, { op, targetIndex }: RequestTemplate): boolean {
  const { owner, target } = at(run, targetIndex);
  const others = run.owners.filter((each) => each !== owner);
  const notifications = others.flatMap((each) => oracleOf(each).notifications);
  const isAbout = notifications.some((each) => isSame(each.target, target));
  return isAbout && (op === "register" || op === "delete");
}

async function compare(run: Run): Promise<void> {
  for (const owner of run.owners) {
    const selection = selectionOf(run, owner);
    const shown = await run.system.show(owner.name, selection);
    const unread = owner.oracles.flatMap((oracle) => oracle.unread);
    checkSums(shown, unread.filter((each) => each.again).map(nameText));
    checkNames(owner, shown);
    if (shown.changeVersion > 0) checkChange(owner, shown);
    const shownBy = (oracle: Oracle) => run.system.visible(oracle.shown(selection, run.now));
    owner.oracles = keepRight(owner.oracles, shown, shownBy);
  }
  const userId = viewerOf(run);
  const expected = run.owners
    .flatMap((owner) => oracleOf(owner).reactionsOf(userId, owner.targets))
    .sort((a, b) => b.time - a.time);
  const listed = await run.system.reactionsOf(userId);
  // Reactions of the same instant come in any order.
  deepStrictEqual(listed.toSorted(), expected.map(({ reaction }) => reaction).sort());
}

/**
 * Checks what holds after every history. The notifications of the names `again` were read before,
 * and count who had unreacted by then, who may be shown no more.
 */
export function checkSums(
  { badge, unread, read, merged }: Shown,
  again: readonly string[] = [],
): void {
  const kindCounts = new Map<string, number>();
  for (const { kind } of unread) kindCounts.set(kind, (kindCounts.get(kind) ?? 0) + 1);
  deepStrictEqual(badge, {
    version: badge.version,
    notificationCount: unread.length,
    actorCount: unread.reduce((sum, { actorCount }) => sum + actorCount, 0),
    unseenNotificationCount: unread.filter(({ seen }) => !seen).length,
    kindCounts: badge.kindCounts,
  });
  for (const [kind, count] of Object.entries(badge.kindCounts)) {
    deepStrictEqual(count, kindCounts.get(kind), kind);
  }
  deepStrictEqual(merged.length, unread.length + read.length);
  for (const each of [...unread, ...read]) {
    const { kind, version, actorCount, firstActors, latestActors } = each;
    ok(version >= 1 && version <= badge.version);
    ok(firstActors.length > 0 && latestActors.length > 0);
    // The first two and the latest three events may be of one actor.
    if (isEvents(kind) || read.includes(each) || again.includes(nameText(each))) continue;
    deepStrictEqual(
      [firstActors.length, latestActors.length],
      [Math.min(actorCount, 2), Math.min(actorCount, 3)],
    );
  }
  for (const { actorCount, eventCount, actors, ...name } of unread) {
    const { kind } = name;
    if (again.includes(nameText(name))) continue;
    deepStrictEqual(isEvents(kind) ? eventCount : actorCount, actors.length);
  }
}

/** Notes the names of a list. A member who was read stays in the notification of this name. */
function checkNames({ names, readIn }: Owner, { unread, read }: Shown): void {
  const listed = [...unread, ...read];
  deepStrictEqual(new Set(listed.map(nameText)).size, listed.length);
  for (const each of listed) {
    const { target, kind, generation, versions } = each;
    names.set(nameText(each), { target, kind, generation });
    for (const version of versions) {
      deepStrictEqual(readIn.get(version) ?? nameText(each), nameText(each), `member ${version}`);
    }
  }
  for (const each of read) {
    for (const version of each.versions) readIn.set(version, nameText(each));
  }
}

/** Checks that nothing unread changes without a version: streams send what has another one. */
function checkChange(
  { unreadAt }: Owner,
  { changeVersion, unread, badge: { version, ...counts } }: Shown,
): void {
  ok(changeVersion <= version);
  // Titles are those of today.
  const text = JSON.stringify([counts, unread.map(({ title: _, ...each }) => each)]);
  deepStrictEqual(text, unreadAt.get(changeVersion) ?? text, `unread at ${changeVersion}`);
  unreadAt.set(changeVersion, text);
}

/** The viewer, who is another user after each step. */
const viewerOf = ({ prefix, steps }: Run): string => `${prefix}${userIds[steps % userIds.length]}`;

/** The names that are read one by one: the latest, and a few of all. */
const someOf = (names: readonly NotificationName[], steps: number): NotificationName[] => [
  ...names.slice(-3),
  ...names.slice(0, -3).filter((_, i) => (i + steps) % 7 === 0),
];

const selectionOf = (run: Run, { targets, names }: Owner): Selection => ({
  targets,
  kinds: run.kinds,
  filter: filters[run.steps % filters.length] ?? [],
  viewerId: viewerOf(run),
  userIds: userIds.map((userId) => `${run.prefix}${userId}`),
  names: someOf([...names.values()], run.steps),
});

function at({ owners }: Run, targetIndex: number) {
  const owner = targetIndex < 2 ? owners[0] : owners[1];
  const target = owner.targets[targetIndex % 2] as TargetName;
  return { owner, target, oracle: oracleOf(owner) };
}

function resolve(run: Run, template: RequestTemplate): Request {
  const { owner, target, oracle } = at(run, template.targetIndex);
  const { targets } = owner;
  return requestOf({ target, targets, oracle, prefix: run.prefix }, template);
}

/** The points at which the scheduler decides what goes on next, during a race. */
export interface Turns {
  turn(): Promise<void>;
  race<T>(work: () => Promise<T>): Promise<T>;
}

/** Turns in the random order of fast-check's scheduler. */
export function turnsOf(scheduler: Scheduler): Turns {
  let racing = false;
  return {
    async turn() {
      if (racing) await scheduler.schedule(Promise.resolve());
    },
    async race(work) {
      racing = true;
      try {
        return await scheduler.waitFor(work());
      } finally {
        racing = false;
      }
    },
  };
}
