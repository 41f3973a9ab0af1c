/** Random histories of two owners' targets, run against the service and the oracle. */
import { deepStrictEqual, fail, ok } from "node:assert";
import fc, { type Scheduler } from "fast-check";
import type { Fault } from "../stores/memory-store.ts";
import {
  type Answer,
  Oracle,
  type Request,
  type Selection,
  type Shown,
  type TargetName,
} from "./reactions-oracle.ts";
import { explain } from "./reactions-order.ts";

/** Which version an owner has seen, relative to the versions that exist. */
interface Seen {
  readonly at: "number" | "member" | "between" | "last" | "stale" | "future";
  readonly back: number;
}

/** A request with numbers in place of names and versions. */
type RequestTemplate =
  | { readonly op: "register"; readonly targetIndex: number; readonly title: number }
  | {
      readonly op: "react";
      readonly targetIndex: number;
      readonly kind: string;
      readonly user: number;
      readonly name: number;
    }
  | {
      readonly op: "unreact";
      readonly targetIndex: number;
      readonly kind: string;
      readonly user: number;
    }
  | {
      readonly op: "read";
      readonly targetIndex: number;
      readonly kind: string;
      readonly seen: Seen;
    }
  | { readonly op: "readAll"; readonly targetIndex: number; readonly seen: Seen }
  | { readonly op: "mute"; readonly targetIndex: number; readonly muted: boolean }
  | { readonly op: "delete" | "purgeUnread"; readonly targetIndex: number };

interface Call {
  readonly template: RequestTemplate;
  readonly process: number;
}

export type Step =
  | ({ readonly step: "one" } & Call)
  | { readonly step: "together"; readonly calls: readonly Call[] }
  /** A user reacts with sixteen more kinds. */
  | { readonly step: "kinds"; readonly targetIndex: number; readonly user: number }
  /** Another owner registers a target that may exist. */
  | { readonly step: "steal"; readonly targetIndex: number }
  | { readonly step: "purge"; readonly targetIndex: number }
  | { readonly step: "wait"; readonly days: number }
  | { readonly step: "faults"; readonly faults: readonly Fault[] };

const day = 86_400_000;
export const keptMs = 90 * day;

const kinds = ["like", "love"];
const moreKinds = Array.from({ length: 16 }, (_, i) => `k${i}`);

/** More than a group shows; the last one owns most targets. */
const userIds = [...Array.from({ length: 9 }, (_, i) => `user-${i}`), "owner-a"];

/** Some are longer than what is stored of a name. */
const names = ["Ann", "Bo", "巡".repeat(30), "👍".repeat(20), "n".repeat(64)];

/** Most requests are about the first target. */
const targetIndex = fc.constantFrom(0, 0, 0, 0, 0, 1, 2);
const kind = fc.constantFrom("like", "like", "like", "love");
const user = fc.nat(userIds.length - 1);
const name = fc.nat(names.length - 1);
const process = fc.nat(1);

const seen: fc.Arbitrary<Seen> = fc.record({
  at: fc.constantFrom(
    ...(["number", "number", "member", "member", "between", "last", "stale", "future"] as const),
  ),
  back: fc.nat(6),
});

const is = <T extends string>(value: T) => fc.constant(value);

const react = fc.record({ op: is("react"), targetIndex, kind, user, name });
const unreact = fc.record({ op: is("unreact"), targetIndex, kind, user });
const read = fc.record({ op: is("read"), targetIndex, kind, seen });
const readAll = fc.record({ op: is("readAll"), targetIndex, seen });

const template: fc.Arbitrary<RequestTemplate> = fc.oneof(
  { weight: 24, arbitrary: react },
  { weight: 10, arbitrary: unreact },
  { weight: 7, arbitrary: read },
  { weight: 2, arbitrary: readAll },
  { weight: 2, arbitrary: fc.record({ op: is("mute"), targetIndex, muted: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ op: is("register"), targetIndex, title: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constantFrom("delete", "purgeUnread"), targetIndex }),
  },
);

const calls = fc.array(fc.record({ template, process }), { minLength: 2, maxLength: 5 });

/** One user, or two, who react and unreact at the same time, and an owner who reads. */
const callsOfOneUser = fc
  .record({
    at: fc.record({ targetIndex, kind }),
    users: fc.tuple(user, user),
    calls: fc.array(
      fc.record({
        template: fc.oneof(
          { weight: 4, arbitrary: react },
          { weight: 4, arbitrary: unreact },
          { weight: 1, arbitrary: read },
        ),
        which: fc.nat(3),
        process,
      }),
      { minLength: 2, maxLength: 6 },
    ),
  })
  .map(({ at, users, calls }) =>
    calls.map(({ template, which, process }): Call => {
      const user = which === 0 ? users[1] : users[0];
      const request = "user" in template ? { ...template, ...at, user } : { ...template, ...at };
      return { template: request, process };
    }),
  );

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 36, arbitrary: fc.record({ step: is("one"), template, process }) },
  { weight: 5, arbitrary: fc.record({ step: is("together"), calls }) },
  { weight: 5, arbitrary: fc.record({ step: is("together"), calls: callsOfOneUser }) },
  { weight: 1, arbitrary: fc.record({ step: is("purge"), targetIndex }) },
  { weight: 1, arbitrary: fc.record({ step: is("steal"), targetIndex }) },
  { weight: 1, arbitrary: fc.record({ step: is("wait"), days: fc.integer({ min: 1, max: 100 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      step: is("faults"),
      faults: fc.array(
        fc.constantFrom<Fault[]>("conflict", "throttled", "lost before", "lost after"),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
);

/** The largest number of groups that a concurrent mark-all may read. */
const mostRead = 5;

/** At most once in a history, because it is long. */
const manyKinds: fc.Arbitrary<Step | undefined> = fc.option(
  fc.record({ step: is("kinds"), targetIndex, user }),
  { freq: 30, nil: undefined },
);

/** At least half of `maxSteps`, because long histories find more than short ones. */
export const history = (maxSteps: number): fc.Arbitrary<Step[]> =>
  fc
    .tuple(fc.array(step, { minLength: Math.floor(maxSteps / 2), maxLength: maxSteps }), manyKinds)
    .map(([steps, many]) => (many ? steps.toSpliced(steps.length >> 1, 0, many) : steps));

/** The system under test: it gets the requests of a history. */
export interface System {
  /** Leaves out what this system does not show. */
  visible(shown: Shown): Shown;
  send(ownerId: string, request: Request, process: number): Promise<Answer>;
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

interface Run {
  readonly system: System;
  /** The beginning of every id, so that histories do not share records. */
  readonly prefix: string;
  readonly owners: {
    readonly name: string;
    readonly targets: readonly TargetName[];
    oracle: Oracle;
  }[];
  kinds: readonly string[];
  now: number;
  steps: number;
}

/** Runs a history and throws at the first difference from the oracle. */
export async function play(
  steps: readonly Step[],
  { system, now, prefix }: { system: System; now: number; prefix: string },
): Promise<void> {
  const owner = (name: string, targets: TargetName[]) => ({
    name: `${prefix}${name}`,
    targets,
    oracle: new Oracle({ ownerId: `${prefix}${name}`, keptMs }),
  });
  const id = `${prefix}x`;
  // The same id with two types, which are two targets.
  const first = owner("owner-a", [
    { type: "post", id },
    { type: "comment", id },
  ]);
  const owners = [first, owner("owner-b", [{ type: "post", id: `${prefix}y` }])];
  const run: Run = { system, prefix, owners, kinds, now, steps: 0 };
  for (const targetIndex of [0, 1, 2]) {
    if ((steps.length + targetIndex) % 4 === 0) continue;
    await one(run, { op: "register", targetIndex, title: 0 }, 0);
  }
  for (const each of steps) {
    await playStep(run, each);
    run.steps += 1;
    run.now += system.wait(1_000);
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
    case "kinds":
      run.kinds = [...kinds, ...moreKinds];
      for (const kind of moreKinds) {
        const { targetIndex, user } = step;
        await one(run, { op: "react", targetIndex, kind, user, name: 0 }, 0);
      }
      return;
    case "steal": {
      const { target, oracle } = at(run, step.targetIndex);
      const shown = oracle.shown({ targets: [target], kinds: [], viewerId: "" }, 0);
      if (shown.targets[0]?.state === "UNKNOWN") return;
      const request: Request = { op: "register", target, title: "mine" };
      deepStrictEqual(await system.send("thief", request, 0), { refused: "ID_REUSED" });
      return;
    }
    case "purge": {
      const { name, target, oracle } = at(run, step.targetIndex);
      await system.purge(name, target);
      oracle.apply({ op: "purgeUnread", target }, run.now);
      oracle.purge(target);
      return;
    }
    case "wait":
      run.now += system.wait(step.days * day);
      return;
    case "faults":
      return system.faults(step.faults);
  }
}

async function one(run: Run, template: RequestTemplate, process: number): Promise<void> {
  const { name, oracle } = at(run, template.targetIndex);
  const request = requestOf(run, template);
  const answer = await run.system.send(name, request, process);
  deepStrictEqual(answer, oracle.apply(request, run.now), JSON.stringify(request));
}

/** Sends concurrent requests: each owner's must have an order that explains all answers. */
async function together(run: Run, calls: readonly Call[]): Promise<void> {
  const sent = withOneReader(run, calls).map(({ template, process }) => {
    const { name } = at(run, template.targetIndex);
    return { name, request: requestOf(run, template), process };
  });
  const answers = await run.system.race(() =>
    Promise.all(sent.map(({ name, request, process }) => run.system.send(name, request, process))),
  );
  for (const owner of run.owners) {
    const answered = sent.flatMap(({ name, request }, i) =>
      name === owner.name ? [{ request, answer: answers[i] as Answer }] : [],
    );
    if (answered.length === 0) continue;
    const selection = selectionOf(run, owner.targets);
    const shown = await run.system.show(owner.name, selection);
    const shownBy = (oracle: Oracle) => run.system.visible(oracle.shown(selection, run.now));
    const after = explain(owner.oracle, answered, run.now, shownBy, shown);
    if (!after) {
      for (const { request } of answered) owner.oracle.apply(request, run.now);
      const inOrder = shownBy(owner.oracle);
      fail(`no order explains it: ${JSON.stringify({ answered, shown, inOrder }, undefined, 1)}`);
    }
    owner.oracle = after;
  }
}

/** Keeps at most one mark-all, of few groups, because the search tries every order. */
function withOneReader(run: Run, calls: readonly Call[]): Call[] {
  const groupCountOf = ({ template }: Call) =>
    at(run, template.targetIndex).oracle.badge.groupCount;
  const reader = calls.find(
    (call) => call.template.op === "readAll" && groupCountOf(call) <= mostRead,
  );
  return calls.filter((call) => call === reader || call.template.op !== "readAll");
}

async function compare(run: Run): Promise<void> {
  for (const { name, targets, oracle } of run.owners) {
    const selection = selectionOf(run, targets);
    const shown = await run.system.show(name, selection);
    checkSums(shown);
    deepStrictEqual(shown, run.system.visible(oracle.shown(selection, run.now)));
  }
  const userId = viewerOf(run);
  const expected = run.owners
    .flatMap(({ targets, oracle }) => oracle.reactionsOf(userId, targets))
    .sort((a, b) => b.time - a.time);
  const listed = await run.system.reactionsOf(userId);
  // Reactions of the same instant come in any order.
  deepStrictEqual(listed.toSorted(), expected.map(({ reaction }) => reaction).sort());
}

/** Checks what holds after every history. */
export function checkSums({ badge, unread, read }: Shown): void {
  const people = unread.reduce((sum, group) => sum + group.peopleCount, 0);
  deepStrictEqual(badge, {
    version: badge.version,
    groupCount: unread.length,
    peopleCount: people,
  });
  for (const { version, firstVersion, peopleCount, firstActors, latestActors } of [
    ...unread,
    ...read,
  ]) {
    ok(firstVersion >= 1 && firstVersion <= version && version <= badge.version);
    deepStrictEqual(
      [firstActors.length, latestActors.length],
      [Math.min(peopleCount, 2), Math.min(peopleCount, 3)],
    );
  }
}

/** The viewer, who is another user after each step. */
const viewerOf = ({ prefix, steps }: Run): string => `${prefix}${userIds[steps % userIds.length]}`;

const selectionOf = (run: Run, targets: readonly TargetName[]): Selection => ({
  targets,
  kinds: run.kinds,
  viewerId: viewerOf(run),
});

function at({ owners }: Run, targetIndex: number) {
  const [a, b] = owners as [Run["owners"][0], Run["owners"][0]];
  const owner = targetIndex < 2 ? a : b;
  const target = owner.targets[targetIndex % 2] as TargetName;
  return { ...owner, target };
}

function requestOf(run: Run, template: RequestTemplate): Request {
  const { target, oracle } = at(run, template.targetIndex);
  const { prefix } = run;
  switch (template.op) {
    case "register":
      return { op: "register", target, title: ["", "one", "another"][template.title] as string };
    case "react": {
      const userId = `${prefix}${userIds[template.user]}`;
      return {
        op: "react",
        target,
        kind: template.kind,
        userId,
        actorName: names[template.name] as string,
      };
    }
    case "unreact":
      return {
        op: "unreact",
        target,
        kind: template.kind,
        userId: `${prefix}${userIds[template.user]}`,
      };
    case "read": {
      const version = versionOf(oracle, template.seen, target, template.kind);
      return { op: "read", target, kind: template.kind, version };
    }
    case "readAll":
      return { op: "readAll", version: versionOf(oracle, template.seen) };
    case "mute":
      return { op: "mute", target, muted: template.muted };
    default:
      return { op: template.op, target };
  }
}

/** A version of one group or of any group: an earlier, the current or a later one. */
function versionOf(oracle: Oracle, { at: where, back }: Seen, target?: TargetName, kind?: string) {
  const { version } = oracle.badge;
  const groups = oracle.unread.filter((group) => {
    if (target === undefined) return true;
    return (
      group.kind === kind && group.target.type === target.type && group.target.id === target.id
    );
  });
  const group = groups[back % groups.length];
  const member = group?.members[back % group.members.length]?.version ?? version;
  const versions = {
    number: version - back,
    member,
    between: member - 1,
    last: group?.version ?? version,
    stale: (group?.firstVersion ?? version) - 1 - back,
    future: version + 1 + back,
  };
  return Math.max(versions[where], 1);
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
