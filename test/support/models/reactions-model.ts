/** Random lives of two owners, played against the use cases and the oracle side by side. */
import { deepStrictEqual, fail, ok } from "node:assert";
import fc, { type Scheduler } from "fast-check";
import type { Fault } from "../stores/memory-store.ts";
import {
  type Answer,
  type Name,
  Oracle,
  type Request,
  type Shown,
  type Sight,
} from "./reactions-oracle.ts";
import { explain } from "./reactions-order.ts";

/** Which version an owner has seen, told by what there is. */
interface Seen {
  readonly at: "number" | "member" | "between" | "last" | "stale" | "future";
  readonly back: number;
}

/** One thing that is asked, with numbers in place of names and versions. */
type Ask =
  | { readonly ask: "register"; readonly place: number; readonly title: number }
  | {
      readonly ask: "react";
      readonly place: number;
      readonly kind: string;
      readonly user: number;
      readonly name: number;
    }
  | {
      readonly ask: "unreact";
      readonly place: number;
      readonly kind: string;
      readonly user: number;
    }
  | { readonly ask: "read"; readonly place: number; readonly kind: string; readonly seen: Seen }
  | { readonly ask: "readAll"; readonly place: number; readonly seen: Seen }
  | { readonly ask: "mute"; readonly place: number; readonly muted: boolean }
  | { readonly ask: "delete" | "removeUnread"; readonly place: number };

interface Asked {
  readonly ask: Ask;
  readonly process: number;
}

export type Step =
  | ({ readonly step: "one" } & Asked)
  | { readonly step: "together"; readonly asks: readonly Asked[] }
  /** Somebody reacts with sixteen kinds more. */
  | { readonly step: "kinds"; readonly place: number; readonly user: number }
  /** Somebody registers what may be another's. */
  | { readonly step: "steal"; readonly place: number }
  | { readonly step: "remove"; readonly place: number }
  | { readonly step: "wait"; readonly days: number }
  | { readonly step: "faults"; readonly faults: readonly Fault[] };

const day = 86_400_000;
export const keptMs = 90 * day;

const kinds = ["like", "love"];
const moreKinds = Array.from({ length: 16 }, (_, i) => `k${i}`);

/** So many that a group is larger than what is shown of it; the last one owns most targets. */
const userIds = [...Array.from({ length: 9 }, (_, i) => `user-${i}`), "owner-a"];

/** What is too long is cut between characters. */
const names = ["Ann", "Bo", "巡".repeat(30), "👍".repeat(20), "n".repeat(64)];

/** Most happens at the first place. */
const place = fc.constantFrom(0, 0, 0, 0, 0, 1, 2);
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

const is = <T extends string>(ask: T) => fc.constant(ask);

const react = fc.record({ ask: is("react"), place, kind, user, name });
const unreact = fc.record({ ask: is("unreact"), place, kind, user });
const read = fc.record({ ask: is("read"), place, kind, seen });
const readAll = fc.record({ ask: is("readAll"), place, seen });

const ask: fc.Arbitrary<Ask> = fc.oneof(
  { weight: 24, arbitrary: react },
  { weight: 10, arbitrary: unreact },
  { weight: 7, arbitrary: read },
  { weight: 2, arbitrary: readAll },
  { weight: 2, arbitrary: fc.record({ ask: is("mute"), place, muted: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ ask: is("register"), place, title: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ ask: fc.constantFrom("delete", "removeUnread"), place }) },
);

const asks = fc.array(fc.record({ ask, process }), { minLength: 2, maxLength: 5 });

/** One person, or two, changing their mind in several places at once, and an owner who reads. */
const twins = fc
  .record({
    at: fc.record({ place, kind }),
    who: fc.tuple(user, user),
    asks: fc.array(
      fc.record({
        ask: fc.oneof(
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
  .map(({ at, who, asks: all }) =>
    all.map(({ ask: each, which, process: from }): Asked => {
      const user = which === 0 ? who[1] : who[0];
      return { ask: "user" in each ? { ...each, ...at, user } : { ...each, ...at }, process: from };
    }),
  );

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 36, arbitrary: fc.record({ step: is("one"), ask, process }) },
  { weight: 5, arbitrary: fc.record({ step: is("together"), asks }) },
  { weight: 5, arbitrary: fc.record({ step: is("together"), asks: twins }) },
  { weight: 1, arbitrary: fc.record({ step: is("remove"), place }) },
  { weight: 1, arbitrary: fc.record({ step: is("steal"), place }) },
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

/** How many groups somebody reads while others are at them. */
const mostRead = 5;

/** At most once, because it is long. */
const manyKinds: fc.Arbitrary<Step | undefined> = fc.option(
  fc.record({ step: is("kinds"), place, user }),
  { freq: 30, nil: undefined },
);

/** As many steps as asked for, not fewer: long lives find more than short ones. */
export const life = (maxSteps: number): fc.Arbitrary<Step[]> =>
  fc
    .tuple(fc.array(step, { minLength: Math.floor(maxSteps / 2), maxLength: maxSteps }), manyKinds)
    .map(([steps, many]) => (many ? steps.toSpliced(steps.length >> 1, 0, many) : steps));

/** Where the requests of a life go. */
export interface Service {
  /** Leaves out what cannot be seen from here. */
  visible(shown: Shown): Shown;
  ask(ownerId: string, request: Request, process: number): Promise<Answer>;
  show(ownerId: string, sight: Sight): Promise<Shown>;
  /** What a person reacts to, newest first. */
  reactionsOf(userId: string): Promise<readonly string[]>;
  /** Removes all that a deleted target has left. */
  remove(ownerId: string, target: Name): Promise<void>;
  /** Lets time pass where it can be told to, and tells how much has. */
  wait(ms: number): number;
  faults(faults: readonly Fault[]): void;
  /** Runs what is asked together; what it meets on its way may change places. */
  race<T>(work: () => Promise<T>): Promise<T>;
}

interface Run {
  readonly service: Service;
  /** Of everybody's name. */
  readonly prefix: string;
  readonly owners: { readonly name: string; readonly targets: readonly Name[]; oracle: Oracle }[];
  kinds: readonly string[];
  now: number;
  steps: number;
}

/** Plays a life and throws at the first thing that differs from the oracle. */
export async function play(
  steps: readonly Step[],
  { service, now, prefix }: { service: Service; now: number; prefix: string },
): Promise<void> {
  const owner = (name: string, targets: Name[]) => ({
    name: `${prefix}${name}`,
    targets,
    oracle: new Oracle({ ownerId: `${prefix}${name}`, keptMs }),
  });
  const id = `${prefix}x`;
  // The same id twice: a type makes another thing of it.
  const first = owner("owner-a", [
    { type: "post", id },
    { type: "comment", id },
  ]);
  const owners = [first, owner("owner-b", [{ type: "post", id: `${prefix}y` }])];
  const run: Run = { service, prefix, owners, kinds, now, steps: 0 };
  for (const place of [0, 1, 2]) {
    if ((steps.length + place) % 4 > 0) await one(run, { ask: "register", place, title: 0 }, 0);
  }
  for (const each of steps) {
    await playStep(run, each);
    run.steps += 1;
    run.now += service.wait(1_000);
    await compare(run);
  }
}

async function playStep(run: Run, step: Step): Promise<void> {
  const { service } = run;
  switch (step.step) {
    case "one":
      return one(run, step.ask, step.process);
    case "together":
      return together(run, step.asks);
    case "kinds":
      run.kinds = [...kinds, ...moreKinds];
      for (const kind of moreKinds) {
        await one(run, { ask: "react", place: step.place, kind, user: step.user, name: 0 }, 0);
      }
      return;
    case "steal": {
      const { target, oracle } = at(run, step.place);
      const state = oracle.shown({ targets: [target], kinds: [], viewerId: "" }, 0).targets[0]
        ?.state;
      if (state === "UNKNOWN") return;
      const request: Request = { op: "register", target, title: "mine" };
      deepStrictEqual(await service.ask("thief", request, 0), { refused: "ID_REUSED" });
      return;
    }
    case "remove": {
      const { name, target, oracle } = at(run, step.place);
      await service.remove(name, target);
      oracle.apply({ op: "removeUnread", target }, run.now);
      oracle.clear(target);
      return;
    }
    case "wait":
      run.now += service.wait(step.days * day);
      return;
    case "faults":
      return service.faults(step.faults);
  }
}

async function one(run: Run, ask: Ask, process: number): Promise<void> {
  const { name, oracle } = at(run, ask.place);
  const request = requestOf(run, ask);
  const answer = await run.service.ask(name, request, process);
  deepStrictEqual(answer, oracle.apply(request, run.now), JSON.stringify(request));
}

/** Asks several at once: for each owner there has to be an order in which all of it comes true. */
async function together(run: Run, all: readonly Asked[]): Promise<void> {
  const sent = withOneReader(run, all).map(({ ask, process }) => {
    const { name } = at(run, ask.place);
    return { name, request: requestOf(run, ask), process };
  });
  const answers = await run.service.race(() =>
    Promise.all(sent.map(({ name, request, process }) => run.service.ask(name, request, process))),
  );
  for (const owner of run.owners) {
    const told = sent.flatMap(({ name, request }, i) =>
      name === owner.name ? [{ request, answer: answers[i] as Answer }] : [],
    );
    if (told.length === 0) continue;
    const sight = sightOf(run, owner.targets);
    const shown = await run.service.show(owner.name, sight);
    const see = (oracle: Oracle) => run.service.visible(oracle.shown(sight, run.now));
    const after = explain(owner.oracle, told, run.now, see, shown);
    if (!after) {
      for (const { request } of told) owner.oracle.apply(request, run.now);
      const inOrder = see(owner.oracle);
      fail(`in no order: ${JSON.stringify({ told, shown, inOrder }, undefined, 1)}`);
    }
    owner.oracle = after;
  }
}

/** Without those who read more than can be looked through in every order. */
function withOneReader(run: Run, all: readonly Asked[]): Asked[] {
  const reader = all.find(
    ({ ask }) => ask.ask === "readAll" && at(run, ask.place).oracle.badge.groupCount <= mostRead,
  );
  return all.filter((each) => each === reader || each.ask.ask !== "readAll");
}

async function compare(run: Run): Promise<void> {
  for (const { name, targets, oracle } of run.owners) {
    const sight = sightOf(run, targets);
    const shown = await run.service.show(name, sight);
    checkSums(shown);
    deepStrictEqual(shown, run.service.visible(oracle.shown(sight, run.now)));
  }
  const userId = viewerOf(run);
  const expected = run.owners
    .flatMap(({ targets, oracle }) => oracle.reactionsOf(userId, targets))
    .sort((a, b) => b.time - a.time);
  const listed = await run.service.reactionsOf(userId);
  // Those of one instant come in any order.
  deepStrictEqual(listed.toSorted(), expected.map(({ what }) => what).sort());
}

/** What has to be so whatever has happened. */
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

/** Another one after each step. */
const viewerOf = ({ prefix, steps }: Run): string => `${prefix}${userIds[steps % userIds.length]}`;

const sightOf = (run: Run, targets: readonly Name[]): Sight => ({
  targets,
  kinds: run.kinds,
  viewerId: viewerOf(run),
});

function at({ owners }: Run, place: number) {
  const [a, b] = owners as [Run["owners"][0], Run["owners"][0]];
  const owner = place < 2 ? a : b;
  const target = owner.targets[place % 2] as Name;
  return { ...owner, target };
}

function requestOf(run: Run, ask: Ask): Request {
  const { target, oracle } = at(run, ask.place);
  const { prefix } = run;
  switch (ask.ask) {
    case "register":
      return { op: "register", target, title: ["", "one", "another"][ask.title] as string };
    case "react": {
      const userId = `${prefix}${userIds[ask.user]}`;
      return { op: "react", target, kind: ask.kind, userId, actorName: names[ask.name] as string };
    }
    case "unreact":
      return { op: "unreact", target, kind: ask.kind, userId: `${prefix}${userIds[ask.user]}` };
    case "read": {
      const version = versionOf(oracle, ask.seen, target, ask.kind);
      return { op: "read", target, kind: ask.kind, version };
    }
    case "readAll":
      return { op: "readAll", version: versionOf(oracle, ask.seen) };
    case "mute":
      return { op: "mute", target, muted: ask.muted };
    default:
      return { op: ask.ask, target };
  }
}

/** A version of a group, or of any, in the past, present or future. */
function versionOf(oracle: Oracle, { at: where, back }: Seen, target?: Name, kind?: string) {
  const { version } = oracle.badge;
  const piles = oracle.unread.filter((pile) => {
    if (target === undefined) return true;
    return pile.kind === kind && pile.target.type === target.type && pile.target.id === target.id;
  });
  const pile = piles[back % piles.length];
  const member = pile?.members[back % pile.members.length]?.version ?? version;
  const versions = {
    number: version - back,
    member,
    between: member - 1,
    last: pile?.version ?? version,
    stale: (pile?.firstVersion ?? version) - 1 - back,
    future: version + 1 + back,
  };
  return Math.max(versions[where], 1);
}

/** What a scheduler needs to hold up. */
export interface Turns {
  turn(): Promise<void>;
  race<T>(work: () => Promise<T>): Promise<T>;
}

/** Turns that fast-check deals out, while there is a race. */
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
