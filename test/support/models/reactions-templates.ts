/** Random histories of reactions: steps with numbers in place of names and versions. */
import fc from "fast-check";
import type { Fault } from "../stores/memory-store.ts";
import { eventsOf } from "./reactions-requests.ts";

/** Which version an owner knows, relative to the versions that exist. */
export interface Known {
  readonly at: "number" | "member" | "between" | "last" | "stale" | "future";
  readonly back: number;
}

/** A target and a kind. */
interface GroupTemplate {
  readonly targetIndex: number;
  readonly kind: string;
}

/** One of a group's notifications: the open one, or one of all, the latest first. */
interface Picked extends GroupTemplate {
  readonly pick: "open" | number;
}

/** A request with numbers in place of names and versions. */
export type RequestTemplate =
  | { readonly op: "register"; readonly targetIndex: number; readonly title: number }
  | ({
      readonly op: "react";
      readonly user: number;
      readonly name: number;
      readonly exclusive: boolean;
      readonly silent: boolean;
      readonly coolDownHours: number | undefined;
      readonly regroupAfterHours: number | undefined;
    } & GroupTemplate)
  | ({ readonly op: "unreact"; readonly user: number } & GroupTemplate)
  /** A member of an unread notification takes the reaction back. */
  | ({ readonly op: "leave"; readonly back: number } & GroupTemplate)
  /** With `again` the event is sent as it was reported before, if it was. */
  | ({
      readonly op: "notify";
      readonly service: number;
      readonly event: number;
      readonly user: number | undefined;
      readonly name: number;
      readonly again: boolean;
      /** Whether it has a target. */
      readonly about: boolean;
      readonly regroupAfterHours: number | undefined;
    } & GroupTemplate)
  /** Takes back an event that was reported; one of any name if there is none. */
  | {
      readonly op: "retract";
      readonly targetIndex: number;
      readonly service: number;
      readonly event: number;
      readonly back: number;
    }
  | ({ readonly op: "read" | "dismiss"; readonly known: Known } & Picked)
  | ({ readonly op: "unread" } & Picked)
  | { readonly op: "readAll" | "seen"; readonly targetIndex: number; readonly known: Known }
  | { readonly op: "mute"; readonly targetIndex: number; readonly muted: boolean }
  | {
      readonly op: "mutePerson";
      readonly targetIndex: number;
      readonly user: number;
      readonly muted: boolean;
    }
  | { readonly op: "block"; readonly targetIndex: number; readonly user: number }
  | {
      readonly op: "prefer";
      readonly targetIndex: number;
      readonly allMuted: boolean;
      readonly mutedKinds: readonly string[];
      readonly mutedEventKinds: readonly string[];
    }
  | { readonly op: "delete" | "readKindsToPurge"; readonly targetIndex: number };

export type EventTemplate = Extract<RequestTemplate, { op: "notify" | "retract" }>;

export interface Call {
  readonly template: RequestTemplate;
  readonly process: number;
}

export type Step =
  | ({ readonly step: "one" } & Call)
  | { readonly step: "together"; readonly calls: readonly Call[] }
  /** Both owners are notified of an event, also about a target of one, or it is retracted. */
  | { readonly step: "everyone"; readonly template: EventTemplate; readonly process: number }
  /** A user reacts with sixteen more kinds. */
  | { readonly step: "kinds"; readonly targetIndex: number; readonly user: number }
  /** So many new people react at the same time. */
  | ({ readonly step: "crowd"; readonly count: number; readonly process: number } & GroupTemplate)
  /** Another owner registers a target that may exist. */
  | { readonly step: "steal"; readonly targetIndex: number }
  | { readonly step: "purge"; readonly targetIndex: number }
  | { readonly step: "wait"; readonly hours: number }
  | { readonly step: "faults"; readonly faults: readonly Fault[] };

export const kinds = ["like", "constructor"];
export const moreKinds = Array.from({ length: 32 }, (_, i) => `k${i}`);

/** One of them is a kind of reactions as well. */
export const eventKinds = ["comment", "like"].map(eventsOf);

/**
 * More than a group shows. The inbox has the same short hash for user-1 and the twin, in histories
 * without a prefix. The last one owns most targets.
 */
export const userIds = [
  ...Array.from({ length: 6 }, (_, i) => `user-${i}`),
  // Names that every object of JavaScript has, as one of the kinds is.
  ...["__proto__", "constructor"],
  "twin-137811",
  "owner-a",
];

/** The services that report events, by ids that both may use. */
export const services = ["blog", "shop"];

/** A family of four people: one grapheme cluster of 25 bytes, whose fourth copy is cut. */
const family = "👨‍👩‍👧‍👦";

/** Some are longer than what is stored of a name. The last is one cluster that does not fit. */
export const names = [
  "Ann",
  "Bo",
  "巡".repeat(40),
  "👍".repeat(30),
  "n".repeat(96),
  family.repeat(4),
  `e${"\u0301".repeat(60)}`,
];

/** Most requests are about the first target. */
const targetIndex = fc.constantFrom(0, 0, 0, 0, 0, 1, 2);
const kind = fc.constantFrom("like", "like", "like", "constructor");
const eventKind = fc.constantFrom(...eventKinds);
const anyKind = fc.oneof({ weight: 3, arbitrary: kind }, { weight: 1, arbitrary: eventKind });
const user = fc.nat(userIds.length - 1);
const name = fc.nat(names.length - 1);
const process = fc.nat(1);
const rarely = fc.integer({ min: 0, max: 7 }).map((drawn) => drawn === 7);

const knownAt = ["number", "number", "member", "member", "between", "last", "stale", "future"];
const known = fc.record({
  at: fc.constantFrom(...(knownAt as Known["at"][])),
  // Beyond the six latest members only a crowd has any.
  back: fc.oneof({ weight: 4, arbitrary: fc.nat(6) }, { weight: 1, arbitrary: fc.nat(120) }),
});

const is = <T extends string>(value: T) => fc.constant(value);

/** Mostly none. */
const regroupAfterHours = fc.constantFrom<number | undefined>(...Array(8).fill(undefined), 1, 24);

const react = fc.record({
  op: is("react"),
  targetIndex,
  kind,
  user,
  name,
  exclusive: rarely,
  silent: rarely,
  coolDownHours: fc.constantFrom(undefined, undefined, undefined, 0, 2, 48),
  regroupAfterHours,
});
const unreact = fc.record({ op: is("unreact"), targetIndex, kind, user });
const leave = fc.record({
  op: is("leave"),
  targetIndex,
  kind,
  back: known.map(({ back }) => back),
});
const notify = fc.record({
  op: is("notify"),
  targetIndex,
  kind: eventKind,
  service: fc.nat(services.length - 1),
  event: fc.nat(30),
  user: fc.option(user, { freq: 3, nil: undefined }),
  name,
  again: rarely,
  about: fc.constantFrom(true, true, true, false),
  regroupAfterHours,
});
const retract = fc.record({
  op: is("retract"),
  targetIndex,
  service: fc.nat(services.length - 1),
  event: fc.nat(30),
  back: fc.nat(5),
});
const pick = fc.oneof({ weight: 3, arbitrary: is("open") }, { weight: 1, arbitrary: fc.nat(4) });
const read = fc.record({ op: is("read"), targetIndex, kind: anyKind, pick, known });
const dismiss = fc.record({ op: is("dismiss"), targetIndex, kind: anyKind, pick, known });
const unread = fc.record({ op: is("unread"), targetIndex, kind: anyKind, pick: fc.nat(4) });
const readAll = fc.record({ op: is("readAll"), targetIndex, known });
const seen = fc.record({ op: is("seen"), targetIndex, known });

const template: fc.Arbitrary<RequestTemplate> = fc.oneof(
  { weight: 24, arbitrary: react },
  { weight: 10, arbitrary: unreact },
  { weight: 2, arbitrary: leave },
  { weight: 8, arbitrary: notify },
  { weight: 3, arbitrary: retract },
  { weight: 7, arbitrary: read },
  { weight: 2, arbitrary: dismiss },
  { weight: 3, arbitrary: unread },
  { weight: 1, arbitrary: fc.record({ op: is("block"), targetIndex, user }) },
  { weight: 2, arbitrary: readAll },
  { weight: 4, arbitrary: seen },
  { weight: 2, arbitrary: fc.record({ op: is("mute"), targetIndex, muted: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ op: is("mutePerson"), targetIndex, user, muted: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: is("prefer"),
      targetIndex,
      allMuted: rarely,
      mutedKinds: fc.subarray(["like", "constructor", "comment"], { maxLength: 2 }),
      mutedEventKinds: fc.subarray(["like", "comment"], { maxLength: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: is("register"), targetIndex, title: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constantFrom("delete", "readKindsToPurge"), targetIndex }),
  },
);

const calls = fc.array(fc.record({ template, process }), { minLength: 2, maxLength: 5 });

/** One user, or two, who react, unreact or cause events at one time, and an owner who reads. */
const callsOfOneUser = fc
  .record({
    at: fc.record({ targetIndex, kind }),
    users: fc.tuple(user, user),
    calls: fc.array(
      fc.record({
        template: fc.oneof(
          { weight: 6, arbitrary: react },
          { weight: 6, arbitrary: unreact },
          { weight: 2, arbitrary: read },
          { weight: 1, arbitrary: notify },
          { weight: 1, arbitrary: seen },
          {
            weight: 1,
            arbitrary: fc.record({ op: is("mutePerson"), targetIndex, user, muted: fc.boolean() }),
          },
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
      const { targetIndex } = at;
      // An exclusive reaction and an event keep their own kinds.
      const keepsKind = template.op === "notify" || (template.op === "react" && template.exclusive);
      const where = "kind" in template && !keepsKind ? at : { targetIndex };
      const who = "user" in template && { user };
      return { template: { ...template, ...where, ...who }, process };
    }),
  );

const hours = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 24, max: 2_400 }));

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 36, arbitrary: fc.record({ step: is("one"), template, process }) },
  { weight: 5, arbitrary: fc.record({ step: is("together"), calls }) },
  { weight: 5, arbitrary: fc.record({ step: is("together"), calls: callsOfOneUser }) },
  { weight: 1, arbitrary: fc.record({ step: is("purge"), targetIndex }) },
  { weight: 1, arbitrary: fc.record({ step: is("steal"), targetIndex }) },
  { weight: 2, arbitrary: fc.record({ step: is("wait"), hours }) },
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

/** In one of eight histories, because it takes long. */
const seldom = (steps: fc.Arbitrary<Step[]>): fc.Arbitrary<Step[]> =>
  fc.oneof({ weight: 7, arbitrary: fc.constant<Step[]>([]) }, { weight: 1, arbitrary: steps });

const manyKinds = seldom(fc.record({ step: is("kinds"), targetIndex, user }).map((step) => [step]));

/** What happens to a crowd: most of it concerns the older members, which are split and counted. */
const crowdCalls = fc.oneof(
  { weight: 3, arbitrary: leave },
  { weight: 3, arbitrary: read },
  { weight: 1, arbitrary: react },
  { weight: 1, arbitrary: readAll },
  { weight: 1, arbitrary: seen },
);

/**
 * A notification with so many members that not all of them are read for a split. Who comes back to
 * a place in it depends on the time of each reaction. When that is not known, all is read in the
 * end.
 */
const crowd = (isTimed: boolean) =>
  seldom(
    fc
      .record({
        at: fc.record({ targetIndex, kind }),
        count: fc.integer({ min: 95, max: 130 }),
        process,
        user,
        calls: fc.array(fc.record({ template: crowdCalls, back: fc.nat(130), process }), {
          minLength: 8,
          maxLength: 10,
        }),
      })
      .map(({ at, count, process, user, calls }): Step[] => {
        // The middle calls come after the second crowd and concern its latest members.
        const isMiddle = (i: number) => i >= calls.length - 5 && i < calls.length - 3;
        const here = calls.map(({ template, back, process }, i): Call => {
          const far = isMiddle(i) ? back % 5 : back;
          const known = "known" in template && { known: { ...template.known, back: far } };
          const who = template.op === "leave" && { back: far };
          return { template: { ...template, ...at, ...known, ...who }, process };
        });
        const last = here.splice(-3);
        const middle = here.splice(-2);
        const one = (call: Call): Step => ({ step: "one", ...call });
        const plain = { name: 0, exclusive: false, silent: false, regroupAfterHours: undefined };
        const react = { op: "react", ...at, user, ...plain, coolDownHours: 0 } as const;
        const unreact = { op: "unreact", ...at, user } as const;
        const readAll = { op: "readAll", targetIndex: at.targetIndex } as const;
        const known: Known = { at: "future", back: 0 };
        const first = one({ template: react, process });
        // The first member comes back, to its place or not.
        const returns = [one({ template: unreact, process }), first];
        const end = one({ template: { ...readAll, known }, process });
        return [
          first,
          { step: "crowd", ...at, count, process },
          ...here.map(one),
          { step: "crowd", ...at, count: count >> 1, process },
          ...middle.map(one),
          ...(isTimed ? returns : []),
          { step: "together", calls: last },
          ...(isTimed ? [] : [end]),
        ];
      }),
  );

const someHours = fc.integer({ min: 1, max: 30 });

/** A person whose reaction was read takes it back and reacts again, within the cool-down or not. */
const returning = seldom(
  fc
    .record({ react, process, hours: fc.tuple(someHours, someHours, someHours) })
    .map(({ react, process, hours }): Step[] => {
      const { targetIndex, kind, user } = react;
      const known: Known = { at: "future", back: 0 };
      const one = (template: RequestTemplate): Step => ({ step: "one", template, process });
      const wait = (index: number): Step => ({ step: "wait", hours: hours[index] as number });
      const unreact = one({ op: "unreact", targetIndex, kind, user });
      const read = one({ op: "read", targetIndex, kind, pick: "open", known });
      const again = one(react);
      return [again, read, wait(0), unreact, wait(1), again, unreact, wait(2), again];
    }),
);

/** A person is blocked whose events are in a notification with another one. All are sent again. */
const blocked = seldom(
  fc.record({ notify, process, user }).map(({ notify, process, user }): Step[] => {
    const one = (template: RequestTemplate): Step => ({ step: "one", template, process });
    // No other step has these events.
    const events = [undefined, user, user].map((each, i) =>
      one({ ...notify, user: each, event: 31 + i, again: true }),
    );
    const { targetIndex } = notify;
    return [...events, one({ op: "block", targetIndex, user }), ...events];
  }),
);

/**
 * At least half of `maxSteps`, because long histories find more than short ones. `isTimed` says
 * whether the model knows the time of each request.
 */
export const history = (maxSteps: number, isTimed: boolean): fc.Arbitrary<Step[]> =>
  fc
    .tuple(
      fc.array(step, { minLength: Math.floor(maxSteps / 2), maxLength: maxSteps }),
      fc.tuple(manyKinds, crowd(isTimed), returning, blocked),
    )
    .map(([steps, seldom]) => steps.toSpliced(steps.length >> 1, 0, ...seldom.flat()));

const everyone: fc.Arbitrary<Step> = fc.record({
  step: is("everyone"),
  template: fc.oneof({ weight: 3, arbitrary: notify }, { weight: 1, arbitrary: retract }),
  process,
});

/** The end of some histories, in which events have several owners. */
export const ending: fc.Arbitrary<Step[]> = seldom(
  fc.array(fc.oneof(everyone, everyone, step), { minLength: 3, maxLength: 12 }),
);
