/** Random histories of campaigns: what people drop and do, and what happens to the workers. */
import fc from "fast-check";
import type { Fate } from "./campaigns-links.ts";
import { type SourceName, sourceNames } from "./campaigns-world.ts";

export const userIds = Array.from({ length: 16 }, (_, i) => `u${i}`);

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

export interface History {
  readonly seed: number;
  readonly acts: readonly { readonly afterMs: number; readonly act: Act }[];
  /** Of the attempts at rows, in their order; undefined for one to which nothing happens. */
  readonly fates: readonly (Fate | undefined)[];
  /** Runs continue as new after so many activities. */
  readonly longAfter: number;
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
    arbitrary: fc.array(fc.record({ userId, points: fc.constantFrom("5", "10", "1.5", "") }), {
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

/** Histories of up to so many acts. */
export const history = (maxLength: number): fc.Arbitrary<History> =>
  fc.record({
    seed: fc.nat(),
    acts: fc
      .tuple(
        fc.record({ afterMs: is(0), act: start }),
        fc.array(
          fc.record({
            afterMs: gap,
            act,
          }),
          { maxLength, size: "max" },
        ),
      )
      .map(([first, rest]) => [first, ...rest]),
    fates: fc.array(fate, { minLength: 4, maxLength: 12 }),
    longAfter: fc.constantFrom(3, 8, 1_000),
  });
