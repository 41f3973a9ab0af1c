/** Random histories of bulk grants, with numbers in place of what is not known yet. */
import fc from "fast-check";
import { type BulkRules, defaultBulkRules } from "../../../src/domain/bulk-rules.ts";
import type { Fault } from "../stores/memory-store.ts";
import type { Raw } from "./bulk-requests.ts";

export type CallTemplate =
  | { readonly op: "submit"; readonly id: string; readonly by: string; readonly sheet: Sheet }
  | { readonly op: "reverse"; readonly id: string; readonly by: string; readonly of: string }
  | { readonly op: "blocks"; readonly id: string; readonly part: Part }
  | { readonly op: "complete" | "finish"; readonly id: string; readonly stale: boolean }
  | {
      readonly op: "approve";
      readonly id: string;
      readonly by: string;
      readonly digest: "current" | "earlier" | "none";
    }
  | {
      readonly op: "reject" | "cancel" | "pause" | "resume" | "retry";
      readonly id: string;
      readonly by: string;
    }
  | { readonly op: "advance" | "remind" | "report"; readonly id: string }
  | { readonly op: "freeze" | "unfreeze"; readonly userId: string }
  | { readonly op: "grant" | "use"; readonly userId: string; readonly points: number }
  /** What fits the state of one of the bulk grants that exist. */
  | {
      readonly op: "fit";
      readonly pick: number;
      readonly choice: number;
      readonly by: string;
      readonly part: Part;
      readonly sheet: Sheet;
      readonly user: number;
    };

/** A sheet: new rows, or those of the bulk grant with a change. */
export interface Sheet {
  readonly kind: "new" | "same" | "earlier" | "fixed" | "failed" | "more" | "changed";
  readonly rows: readonly Raw[];
  /** Set: the revision that it replaces, back from the current one. */
  readonly replaces: number | undefined;
  /** Set: the execute time, in ms from now. */
  readonly executeIn: number | undefined;
}

/** A part of a validation or a run, as an attempt works on it. */
export interface Part {
  readonly from: number;
  readonly count: number;
  readonly limit: number;
  /** Set: a worker that runs it dies when it has executed so many rows. */
  readonly diesAfter: number | undefined;
  /** Of an earlier revision or run. */
  readonly stale: boolean;
}

export type Step =
  | { readonly step: "one"; readonly call: CallTemplate; readonly process: number }
  /** Does what the workflow does next, so many times. */
  | { readonly step: "follow"; readonly pick: number; readonly times: number }
  /** The first so many steps from the submission to the end of a run with a frozen account. */
  | {
      readonly step: "campaign";
      readonly id: string;
      readonly rows: readonly Raw[];
      readonly length: number;
      readonly frozen: string | undefined;
      /** Set: it reverses this bulk grant, and has no rows of its own. */
      readonly reverses: string | undefined;
    }
  | { readonly step: "together"; readonly calls: readonly CallTemplate[] }
  /** Two attempts at all blocks, and one more call meanwhile. */
  | { readonly step: "attempts"; readonly pick: number; readonly call: CallTemplate | undefined }
  | { readonly step: "rules"; readonly rules: BulkRules }
  | { readonly step: "wait"; readonly ms: number }
  | { readonly step: "faults"; readonly faults: readonly Fault[] };

export interface History {
  readonly steps: readonly Step[];
  /** Sheets get so many more rows, of users who are in no other sheet's own rows. */
  readonly padding: number;
}

const is = <const T>(value: T) => fc.constant(value);
const minute = 60_000;

const id = fc.constantFrom("a", "a", "b", "c");
const reversalId = fc.constantFrom("r", "r", "s", "a");
export const userIds = ["u0", "u1", "u2", "u3", "u4"];
const userId = fc.constantFrom(...userIds);
const by = fc.constantFrom("ann", "ben", "cho", "dan");
const points = fc.constantFrom(5, 10, 10, 20, 45);

const goodRow = fc.record({ userId, points, reason: fc.constantFrom("", "thanks") });
const badRow = fc.record({
  userId: fc.constantFrom("", "u#1", "u1", "u2"),
  points: fc.constantFrom(0, 1.5, 10, 2_000_000_000),
  reason: fc.constantFrom("", "x".repeat(129)),
});
const goodRows = fc.uniqueArray(goodRow, { minLength: 1, maxLength: 5, selector: (r) => r.userId });
const rows: fc.Arbitrary<readonly Raw[]> = fc.oneof(
  { weight: 6, arbitrary: goodRows },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof({ weight: 2, arbitrary: goodRow }, badRow), { maxLength: 6 }),
  },
);

const sheet: fc.Arbitrary<Sheet> = fc.record({
  kind: fc.constantFrom("new", "earlier", "same", "fixed", "failed", "more", "changed"),
  rows,
  replaces: fc.constantFrom(undefined, undefined, undefined, 0, 1),
  executeIn: fc.constantFrom(undefined, undefined, undefined, -minute, 30 * minute, 120 * minute),
});

const part: fc.Arbitrary<Part> = fc.record({
  from: fc.constantFrom(0, 0, 1, 2),
  count: fc.constantFrom(1, 1, 2, 3),
  limit: fc.constantFrom(1, 2, 9),
  diesAfter: fc.constantFrom(undefined, 1, 2, 20, 252),
  stale: fc.constantFrom(false, false, false, true),
});

/** What people do to bulk grants and accounts. */
const peopleCall: fc.Arbitrary<CallTemplate> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: is("submit"), id, by, sheet }) },
  { weight: 2, arbitrary: fc.record({ op: is("reverse"), id: reversalId, by, of: id }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: is("approve"),
      id: fc.oneof(id, reversalId),
      by,
      digest: fc.constantFrom("current", "current", "current", "earlier", "none"),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constantFrom("reject", "cancel", "pause", "resume", "resume", "retry", "retry"),
      id: fc.oneof(id, reversalId),
      by,
    }),
  },
  { weight: 4, arbitrary: fc.record({ op: fc.constantFrom("freeze", "unfreeze"), userId }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constantFrom("grant", "use"), userId, points }) },
);

const workerCall: fc.Arbitrary<CallTemplate> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: is("blocks"), id, part }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constantFrom("complete", "finish", "finish"),
      id,
      stale: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constantFrom("advance", "advance", "remind", "report"), id }),
  },
);

/** Mostly the latest of the bulk grants that exist. */
const pick = fc.constantFrom(0, 0, 0, 1, 2, 3);

const call = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      op: is("fit"),
      pick,
      choice: fc.nat(11),
      by,
      part,
      sheet,
      user: fc.nat(4),
    }),
  },
  { weight: 3, arbitrary: peopleCall },
  { weight: 2, arbitrary: workerCall },
);

const rules: fc.Arbitrary<BulkRules> = fc.constantFrom(
  defaultBulkRules,
  {
    ...defaultBulkRules,
    tiers: [{ maxTotalPoints: 30, requiredApprovalCount: 0 }],
    requiredApprovalCount: 2,
  },
  {
    ...defaultBulkRules,
    tiers: [{ maxTotalPoints: 40, requiredApprovalCount: 1 }],
    requiredApprovalCount: 2,
  },
  { ...defaultBulkRules, maxPointsPerRow: 20 },
  { ...defaultBulkRules, maxTotalPoints: 60, requiredApprovalCount: 0 },
);

const campaign = fc.record({
  step: is("campaign"),
  id,
  rows: goodRows,
  length: fc.constantFrom(1, 2, 3, 4, 5, 5, 6, 7, 7, 7),
  frozen: fc.option(userId, { nil: undefined }),
  reverses: is(undefined),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 14, arbitrary: fc.record({ step: is("one"), call, process: fc.nat(1) }) },
  {
    weight: 10,
    arbitrary: fc.record({ step: is("follow"), pick, times: fc.constantFrom(1, 2, 4) }),
  },
  { weight: 3, arbitrary: campaign },
  {
    weight: 3,
    arbitrary: fc.record({
      step: is("campaign"),
      id: fc.constantFrom("r", "s", "t"),
      rows: is([]),
      length: fc.constantFrom(4, 7, 7),
      frozen: fc.option(userId, { nil: undefined }),
      reverses: id,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      step: is("together"),
      calls: fc.array(call, { minLength: 2, maxLength: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      step: is("attempts"),
      pick,
      call: fc.option(fc.record({ op: is("grant"), userId, points }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ step: is("rules"), rules }) },
  {
    weight: 3,
    arbitrary: fc.record({
      step: is("wait"),
      ms: fc.constantFrom(1_000, 30 * minute, 60 * minute, 300 * minute),
    }),
  },
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

/** Histories of up to so many steps; one in 25 has sheets of two or three blocks. */
export const history = (maxLength: number): fc.Arbitrary<History> =>
  fc.record({
    steps: fc
      .tuple(campaign, fc.array(step, { maxLength, size: "max" }))
      .map(([first, rest]) => [first, ...rest]),
    padding: fc.oneof(
      { weight: 24, arbitrary: is(0) },
      { weight: 1, arbitrary: fc.integer({ min: 248, max: 520 }) },
    ),
  });
