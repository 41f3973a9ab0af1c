/** Random histories of campaigns: what people drop and do, and what happens to the workers. */
import fc from "fast-check";
import type { BulkRules } from "../../../src/points/rules/bulk-rules.ts";
import type { Fate } from "./campaigns-links.ts";
import type { Command } from "./campaigns-rules.ts";
import { type SourceName, sourceNames } from "./campaigns-world.ts";

/** The first ones are names that every object of JavaScript has. */
export const userIds = [
  ...["constructor", "__proto__", "toString"],
  ...Array.from({ length: 13 }, (_, i) => `u${i}`),
];

/** What a file has that is dropped, in terms of the campaign of its name. */
export type Content =
  /** New rows. */
  | "new"
  /** The current content as it is; with its bad rows corrected; with one more user. */
  | "same"
  | "corrected"
  | "more"
  /** The exported rows that were not granted. */
  | "export"
  /** The first content. */
  | "first"
  /** The current content with other points for one user. */
  | "changed"
  /** Something that is no sheet. */
  | "broken";

export interface Drop {
  readonly source: SourceName;
  readonly name: string;
  /** Set: the campaign that its column names. */
  readonly column: string | undefined;
  readonly content: Content;
  readonly rows: readonly { readonly userId: string; readonly points: string }[];
}

export type Act =
  | { readonly act: "drop"; readonly drop: Drop }
  | { readonly act: "pick up"; readonly source: SourceName }
  /** Files cannot be moved for so long. */
  | { readonly act: "lock"; readonly source: SourceName; readonly ms: number }
  /** Drops a file, has it picked up and approved, waits until it runs, and stops it after that. */
  | {
      readonly act: "start";
      readonly drop: Drop;
      readonly stop: { readonly by: "cancel" | "pause"; readonly afterMs: number } | undefined;
    }
  | {
      readonly act: "approve" | "reject" | "cancel" | "pause" | "resume" | "retry";
      readonly pick: number;
    }
  | { readonly act: "freeze" | "unfreeze"; readonly userId: string }
  /** What happens to the runs in Temporal. */
  | { readonly act: "terminate" | "request cancellation" | "reconcile"; readonly pick: number };

/** What people do by calls, beside the files. */
export type Call =
  | {
      readonly act: "submit";
      readonly name: string;
      readonly by: string;
      readonly content: "new" | "same" | "first" | "corrected" | "rest" | "more" | "changed";
      readonly rows: readonly { readonly userId: string; readonly points: number }[];
      readonly reason: string;
      /** Set: the revision that it replaces, back from the current one. */
      readonly replaces: number | undefined;
      /** Set: the execute time, in ms from now. */
      readonly executeIn: number | undefined;
      /** Approves it, and waits until it runs. */
      readonly goesOn: boolean;
    }
  | {
      readonly act: "reverse";
      readonly name: string;
      readonly by: string;
      readonly pick: number;
      readonly goesOn: boolean;
    }
  | {
      readonly act: "ask";
      readonly name: string;
      readonly by: string;
      readonly userId: string;
      readonly points: number;
      readonly reason: string;
      readonly goesOn: boolean;
    }
  | {
      readonly act: "command";
      readonly op: Command["op"];
      readonly pick: number;
      readonly by: string;
      /** Of an approval; the earliest one is that of another revision, or of none. */
      readonly digest: "current" | "earliest";
    }
  | {
      readonly act: "points";
      readonly op: "grant" | "use";
      readonly userId: string;
      readonly points: number;
    }
  | { readonly act: "rules"; readonly rules: Partial<BulkRules> }
  | { readonly act: "wait"; readonly ms: number };

export interface History {
  readonly seed: number;
  readonly acts: readonly { readonly afterMs: number; readonly act: Act | Call }[];
  /** Of the attempts at rows, in their order; undefined for one to which nothing happens. */
  readonly fates: readonly (Fate | undefined)[];
  /** Runs continue as new after so many activities. */
  readonly longAfter: number;
  /** The rules in force at the beginning, if they are not the default ones. */
  readonly rules: Partial<BulkRules> | undefined;
}

const is = <const T>(value: T) => fc.constant(value);

const source = fc.constantFrom<SourceName>("inbox", "inbox", "inbox", ...sourceNames);
const name = fc.constantFrom("spring", "spring", "summer");
const userId = fc.constantFrom(...userIds);
const points = fc.constantFrom("5", "10", "10", "20");
const row = fc.record({ userId, points });
const rowsFrom = (minLength: number) =>
  fc.uniqueArray(row, { minLength, maxLength: 16, size: "max", selector: (each) => each.userId });
const goodRows = rowsFrom(1);
const manyRows = fc.oneof(goodRows, rowsFrom(9));
const rows = fc.oneof(
  { weight: 5, arbitrary: goodRows },
  {
    weight: 1,
    arbitrary: fc.array(fc.record({ userId, points: fc.constantFrom("5", "10", "0", "") }), {
      minLength: 1,
      maxLength: 8,
    }),
  },
);

const drop: fc.Arbitrary<Drop> = fc.record({
  source,
  name,
  column: fc.constantFrom(undefined, undefined, undefined, "spring", "summer"),
  content: fc.constantFrom<Content>(
    ...(["new", "same", "corrected", "more", "export", "export", "first", "changed"] as const),
    "broken",
  ),
  rows,
});

const start = fc.record({
  act: is("start"),
  drop: fc.record({
    source,
    name,
    column: is(undefined),
    content: fc.constantFrom<Content>("new", "new", "export", "more", "first"),
    rows: manyRows,
  }),
  stop: fc.option(
    fc.record({
      by: fc.constantFrom("cancel", "cancel", "cancel", "pause"),
      // Also about when Temporal gives an attempt up, while that goes on.
      afterMs: fc.oneof(fc.nat(3_000), fc.integer({ min: 14_000, max: 17_000 })),
    }),
    { freq: 4, nil: undefined },
  ),
});

const pick = fc.constantFrom(0, 0, 0, 1, 2);

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: start },
  { weight: 6, arbitrary: fc.record({ act: is("drop"), drop }) },
  { weight: 5, arbitrary: fc.record({ act: is("pick up"), source }) },
  {
    weight: 1,
    arbitrary: fc.record({ act: is("lock"), source, ms: fc.constantFrom(500, 5_000, 60_000) }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      act: fc.constantFrom(
        ...(["approve", "approve", "reject", "cancel", "cancel", "cancel"] as const),
        ...(["pause", "resume", "resume", "retry"] as const),
      ),
      pick,
    }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constantFrom("freeze", "unfreeze"), userId }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constantFrom("terminate", "request cancellation", "reconcile"),
      pick,
    }),
  },
);

const anyFate: fc.Arbitrary<Fate> = fc.record({
  rowMs: fc.constantFrom(0, 10, 100, 400),
  stalls: fc.record({ row: fc.nat(6), ms: fc.constantFrom(0, 0, 1_500, 4_000, 15_000, 40_000) }),
  recordMs: fc.constantFrom(0, 0, 0, 1_500, 15_000),
  readMs: fc.constantFrom(0, 0, 20, 2_900),
  commitMs: fc.constantFrom(0, 0, 20, 1_500, 2_900),
  end: fc.option(
    fc.record({
      as: fc.constantFrom("lost", "lost", "killed"),
      ms: fc.constantFrom(0, 50, 300, 2_000, 8_000),
    }),
    { nil: undefined },
  ),
});

/** Sends rows slowly, and for a while after Temporal has given it up. */
const lateFate: fc.Arbitrary<Fate> = fc.record({
  rowMs: fc.constantFrom(400, 1_500, 3_000),
  stalls: is({ row: 0, ms: 0 }),
  recordMs: fc.constantFrom(0, 0, 0, 15_000),
  readMs: fc.constantFrom(0, 0, 2_900),
  commitMs: fc.constantFrom(0, 2_900, 2_900),
  end: is({ as: "lost", ms: 0 }),
});

const fate = fc.oneof(anyFate, lateFate, is(undefined), is(undefined));

const gap = fc.constantFrom(0, 0, 10, 100, 300, 1_000, 3_000, 15_000, 20_000);

const campaign = fc.constantFrom("spring", "summer", "gift", "gift");
const by = fc.constantFrom("ann", "ben", "cho", "inbox");
const minute = 60_000;
const goesOn = fc.constantFrom(true, true, false);
const badRow = fc.record({
  userId: fc.constantFrom("", "u#1", "u1", "u2"),
  points: fc.constantFrom(0, 1.5, 10, 2_000_000_000),
});
const goodRow = fc.record({ userId, points: fc.constantFrom(5, 10, 10, 20, 45) });
const messageRows = fc.oneof(
  { weight: 6, arbitrary: fc.uniqueArray(goodRow, { maxLength: 6, selector: (r) => r.userId }) },
  { weight: 1, arbitrary: fc.array(fc.oneof(goodRow, badRow), { maxLength: 6 }) },
);

/** No tiers; one that needs nobody; one below two approvals; caps; refused warnings. */
const rules = fc.constantFrom<Partial<BulkRules>[]>(
  {},
  { tiers: [{ maxTotalPoints: 60, requiredApprovalCount: 0 }], requiredApprovalCount: 2 },
  { tiers: [{ maxTotalPoints: 80, requiredApprovalCount: 1 }], requiredApprovalCount: 2 },
  { requiredApprovalCount: 2, refusedWarnings: ["POINTS_ZERO"] },
  { maxPointsPerRow: 15, refusedWarnings: ["POINTS_ZERO"] },
  { maxTotalPoints: 100, requiredApprovalCount: 0 },
);

const submit = fc.record({
  act: is("submit"),
  name: campaign,
  by,
  content: fc.constantFrom(
    ...(["new", "new", "same", "first", "corrected", "rest", "rest", "more", "changed"] as const),
  ),
  rows: messageRows,
  reason: fc.constantFrom("", "", "", "thanks", "thanks", "x".repeat(129)),
  replaces: fc.constantFrom(undefined, undefined, undefined, 0, 1),
  executeIn: fc.constantFrom(undefined, undefined, undefined, -minute, 30 * minute, 120 * minute),
  goesOn,
});

const ask = fc.record({
  act: is("ask"),
  name: fc.constantFrom("ask", "ask", "ask-again", "gift", "spring"),
  by,
  userId,
  points: fc.constantFrom(5, 10, 10, 20, 90),
  reason: fc.constantFrom("", "thanks"),
  goesOn,
});

const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 7, arbitrary: submit },
  { weight: 4, arbitrary: ask },
  {
    weight: 4,
    arbitrary: fc.record({
      act: is("reverse"),
      name: fc.constantFrom("undo", "undo", "undo-again", "undo-again", "gift"),
      by,
      pick,
      goesOn,
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      act: is("command"),
      op: fc.constantFrom(
        ...(["approve", "approve", "approve", "reject", "cancel"] as const),
        ...(["pause", "resume", "retry"] as const),
      ),
      pick,
      by,
      digest: fc.constantFrom("current", "current", "current", "earliest"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: is("points"),
      op: fc.constantFrom("grant", "use", "use"),
      userId,
      points: fc.constantFrom(5, 10, 20),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: is("rules"), rules }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: is("wait"),
      ms: fc.constantFrom(30 * minute, 60 * minute, 300 * minute, 1_500 * minute),
    }),
  },
);

/**
 * Histories of up to so many acts, and of as many calls between them as `calls` allows. The calls
 * come last, so that the seeds of histories without them give the same ones as before.
 */
export const history = (maxLength: number, calls: number): fc.Arbitrary<History> =>
  fc
    .record({
      seed: fc.nat(),
      acts: fc
        .tuple(
          fc.record({ afterMs: is(0), act: start }),
          fc.array(fc.record({ afterMs: gap, act }), { maxLength, size: "max" }),
        )
        .map(([first, rest]) => [first, ...rest]),
      fates: fc.array(fate, { minLength: 4, maxLength: 12 }),
      longAfter: fc.constantFrom(3, 8, 1_000),
      calls: fc.array(fc.record({ before: fc.nat(maxLength), afterMs: gap, act: call }), {
        maxLength: calls,
        size: "max",
      }),
      rules: calls > 0 ? fc.option(rules, { nil: undefined, freq: 2 }) : is(undefined),
    })
    .map(({ calls, acts, ...rest }) => ({
      ...rest,
      acts: [...acts, undefined].flatMap((each, i) => [
        ...calls.filter(({ before }) => before % (acts.length + 1) === i),
        ...(each ? [each] : []),
      ]),
    }));
