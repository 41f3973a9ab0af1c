/** Random histories of an account, played against the use cases and the oracle side by side. */
import { deepStrictEqual, ok } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { ChangeResult } from "../../../src/app/points/change-account.ts";
import {
  freezeAccount,
  grantPoints,
  refundPoints,
  revokePoints,
  unfreezeAccount,
  usePoints,
} from "../../../src/app/points/commands.ts";
import { expireDueInShard } from "../../../src/app/points/expire-due.ts";
import { getBalance } from "../../../src/app/points/queries.ts";
import { verifyAccount } from "../../../src/app/points/verify.ts";
import type { Deps } from "../../../src/app/ports/deps.ts";
import { shardCount } from "../../../src/app/ports/points.ts";
import { accountRef, programRef } from "../../../src/app/ports/records.ts";
import { updateProgram } from "../../../src/app/programs/commands.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { eventName, type LedgerEntry } from "../../../src/domain/ledger.ts";
import { formatMonth } from "../../../src/domain/month.ts";
import { delayedBy, pause } from "../stores/item-by-item.ts";
import { type Fault, memoryDeps } from "../stores/memory-store.ts";
import {
  type Answer,
  type Line,
  lotAt,
  Oracle,
  type Request,
  type Rules,
  startOfMonth,
} from "./points-oracle.ts";
import { inVirtualTime } from "./virtual-time.ts";

/** One thing that is asked, with numbers in place of the ids that are not known yet. */
type Ask =
  | { readonly ask: "grant"; readonly points: number }
  | { readonly ask: "use"; readonly points: number; readonly partial: boolean }
  | {
      readonly ask: "refund";
      readonly of: number;
      /** Absent: all that is left. */
      readonly points: number | undefined;
      readonly current: boolean;
    }
  | { readonly ask: "revoke"; readonly of: number }
  | { readonly ask: "freeze" | "unfreeze" }
  /** An earlier request once more, to the letter or with another reason. */
  | { readonly ask: "again"; readonly of: number; readonly same: boolean };

export type Step =
  | { readonly step: "one"; readonly ask: Ask; readonly process: number }
  | { readonly step: "together"; readonly asks: readonly { ask: Ask; process: number }[] }
  /** One request, and the same on the other process `after` ms, while others are asked, too. */
  | {
      readonly step: "repeated";
      readonly ask: Ask;
      readonly process: number;
      readonly after: number;
      readonly others: readonly { ask: Ask; process: number }[];
    }
  | { readonly step: "wait"; readonly ms: number }
  /** To a month's end, `ms` beside it. */
  | { readonly step: "month"; readonly months: number; readonly ms: number }
  | { readonly step: "lengthen"; readonly by: number }
  /** To the instant at which the last lengthening takes effect, `ms` beside it. */
  | { readonly step: "effect"; readonly ms: number }
  | { readonly step: "sweep" }
  | { readonly step: "faults"; readonly faults: readonly Fault[] };

export interface History {
  readonly zone: string;
  readonly lifetime: number;
  readonly start: number;
  readonly steps: readonly Step[];
  /**
   * How many ms the items of a transaction wait before each is applied: one delay after another,
   * and then from the first again. Empty: it is applied as a whole.
   */
  readonly delays: readonly number[];
}

const points = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 120 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000_000 }) },
);

/** Mostly the latest or one of the latest ids. */
const of = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.nat(40) },
);

/** Of a refund: often so little that others follow, often all. */
const part = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 1, arbitrary: points },
  { weight: 2, arbitrary: fc.constant(undefined) },
);

const ask: fc.Arbitrary<Ask> = fc.oneof(
  { weight: 7, arbitrary: fc.record({ ask: fc.constant("grant" as const), points }) },
  {
    weight: 5,
    arbitrary: fc.record({ ask: fc.constant("use" as const), points, partial: fc.boolean() }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      ask: fc.constant("refund" as const),
      of,
      points: part,
      current: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ ask: fc.constant("revoke" as const), of }) },
  { weight: 1, arbitrary: fc.constant({ ask: "freeze" as const }) },
  { weight: 2, arbitrary: fc.constant({ ask: "unfreeze" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({ ask: fc.constant("again" as const), of, same: fc.boolean() }),
  },
);

const process = fc.nat(1);

/** In ms: mostly less than a call takes. */
const delay = fc.oneof({ weight: 4, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.nat(40) });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ step: fc.constant("one" as const), ask, process }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant("together" as const),
      asks: fc.array(fc.record({ ask, process }), { minLength: 2, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant("repeated" as const),
      ask,
      process,
      after: delay,
      others: fc.array(fc.record({ ask, process }), { maxLength: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("wait" as const),
      ms: fc.integer({ min: -86_400_000 * 70, max: 86_400_000 * 70 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      step: fc.constant("month" as const),
      months: fc.oneof(
        { weight: 4, arbitrary: fc.integer({ min: 0, max: 2 }) },
        { weight: 1, arbitrary: fc.integer({ min: -3, max: 40 }) },
      ),
      // Two minutes ahead, because a lengthening takes that long.
      ms: fc.constantFrom(-120_000, -1, 0, 0, 1, 60_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("lengthen" as const),
      by: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: -1, max: 20 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("effect" as const),
      ms: fc.constantFrom(-1, 0, 1),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ step: "sweep" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("faults" as const),
      faults: fc.array(
        fc.constantFrom<Fault[]>("conflict", "throttled", "lost before", "lost after"),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
);

const zones = [
  "Asia/Tokyo",
  "UTC",
  "America/Havana",
  "Asia/Beirut",
  "America/Asuncion",
  "Pacific/Kiritimati",
];

export const history = (maxSteps: number): fc.Arbitrary<History> =>
  fc.record({
    zone: fc.constantFrom(...zones),
    lifetime: fc.oneof(fc.constantFrom(1, 2, 3), fc.constantFrom(12, 24, 36)),
    start: fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2027, 11, 31) }),
    // As many as asked for, not fewer: long histories find more than short ones.
    steps: fc.array(step, { minLength: Math.floor(maxSteps / 2), maxLength: maxSteps }),
    delays: fc.oneof(fc.constant([]), fc.array(delay, { minLength: 1, maxLength: 9 })),
  });

const programId = "p";
const userId = "u";
const caller = "model";

/** Histories on the store in memory, whose every step takes as long as it takes in virtual time. */
export const histories = fc.asyncProperty(history(40), (each) =>
  inVirtualTime(() => play(each, openMemory)),
);

/** Where the requests of a history go. */
export interface Target {
  /** Leaves out of an oracle's answer, account or line what cannot be seen from here. */
  visible<T extends object>(told: T): T;
  /** One answer or refusal for each request. */
  ask(request: Request, process: number): Promise<Answer>;
  /** Lets about so many milliseconds pass. */
  pause(ms: number): Promise<void>;
  /** Everything that a reader sees, to be compared with the oracle's. */
  show(): Promise<unknown>;
  /** The lines of the ledger after `from`. */
  lines(from: number): Promise<Line[]>;
  setTime(time: number): Promise<void>;
  lengthen(months: number): Promise<void>;
  /** Sweeps; answers the time below which the account does not go any more. */
  sweep(): Promise<number | undefined>;
  faults(faults: readonly Fault[]): void;
  /** The differences that a verification finds. */
  verify(): Promise<readonly unknown[]>;
}

/** Plays a history and throws at the first thing that differs from the oracle. */
export async function play(
  { zone: timeZone, lifetime, start, steps, delays }: History,
  open: (rules: Rules, start: number, delays: readonly number[]) => Promise<Target>,
): Promise<void> {
  const rules: Rules = {
    zone: timeZone,
    lifetimes: [{ lifetimeMonths: lifetime, effectiveTime: 0 }],
  };
  const target = await open(rules, start, delays);
  const oracle = new Oracle(rules);
  const run: Run = { target, oracle, rules, now: start, asked: [], compared: 0 };
  for (const each of steps) {
    await playStep(run, each);
    await compareAll(run);
  }
}

interface Run {
  readonly target: Target;
  readonly oracle: Oracle;
  readonly rules: Rules;
  now: number;
  /** Every request so far, refused ones included. */
  readonly asked: Request[];
  /** How many lines of the ledger have been compared. */
  compared: number;
}

async function playStep(run: Run, step: Step): Promise<void> {
  switch (step.step) {
    case "one": {
      const request = requestOf(run, step.ask);
      const expected = run.target.visible(run.oracle.apply(request, run.now));
      deepStrictEqual(await run.target.ask(request, step.process), expected);
      return;
    }
    case "together":
      return playTogether(run, callsOf(run, step.asks));
    case "repeated": {
      const [first, ...others] = callsOf(run, [step, ...step.others]) as [Call, ...Call[]];
      const second = { ...first, process: 1 - first.process, after: step.after };
      return playTogether(run, [first, second, ...others]);
    }
    case "wait":
      return setTime(run, run.now + step.ms);
    case "month": {
      const { zone: timeZone } = run.rules;
      const month = lotAt(timeZone, run.now) + 1 + step.months;
      return setTime(run, startOfMonth(timeZone, month) + step.ms);
    }
    case "lengthen":
      return lengthen(run, step.by);
    case "effect":
      return setTime(
        run,
        Math.max(run.rules.lifetimes.at(-1)?.effectiveTime ?? 0, run.now) + step.ms,
      );
    case "sweep": {
      const wrote = run.oracle.sweep(run.now);
      const floor = await run.target.sweep();
      if (!wrote && floor !== undefined) {
        // Nothing expired; the account may have been turned to now all the same.
        deepStrictEqual([run.oracle.time, run.now].includes(floor), true, "time of the account");
        run.oracle.adoptTime(floor);
      }
      return;
    }
    case "faults":
      run.target.faults(step.faults);
  }
}

async function setTime(run: Run, time: number): Promise<void> {
  run.now = time;
  await run.target.setTime(time);
}

async function lengthen(run: Run, by: number): Promise<void> {
  const { lifetimes } = run.rules;
  const latest = lifetimes.at(-1) as Rules["lifetimes"][0];
  const months = Math.min(latest.lifetimeMonths + by, 36);
  await run.target.lengthen(months);
  if (months <= latest.lifetimeMonths) return;
  lifetimes.push({
    lifetimeMonths: months,
    effectiveTime: Math.max(run.now + 120_000, latest.effectiveTime),
  });
}

/** A request, where it goes, and how many milliseconds after the others. */
interface Call {
  readonly request: Request;
  readonly process: number;
  readonly after: number;
}

const callsOf = (run: Run, asks: readonly { ask: Ask; process: number }[]): Call[] =>
  asks.map(({ ask: each, process: where }) => ({
    request: requestOf(run, each),
    process: where,
    after: 0,
  }));

/** A call and what it was answered; when it started and ended, as places in one order. */
interface Answered {
  readonly request: Request;
  readonly answer: Answer;
  readonly start: number;
  readonly end: number;
}

/**
 * Sends calls that are under way at the same time. Those that wrote are put into the order of their
 * ledger numbers; every other one must have been answered as in one of the states that the account
 * had between its start and its end. So no retry of a call that wrote is ever refused.
 */
async function playTogether(run: Run, calls: readonly Call[]): Promise<void> {
  let place = 0;
  const all = await Promise.all(
    calls.map(async ({ request, process: where, after }): Promise<Answered> => {
      if (after > 0) await run.target.pause(after);
      const start = place++;
      const answer = await run.target.ask(request, where);
      return { request, answer, start, end: place++ };
    }),
  );
  const wrote = all
    .filter(({ answer }) => "line" in answer && !answer.replayed)
    .sort((a, b) => numberOf(a.answer) - numberOf(b.answer));
  const others = new Map(
    all.filter((each) => !wrote.includes(each)).map((each) => [each, [] as Answer[]]),
  );
  // The state behind `done` writes lasts until the next one has ended at the latest.
  const lookAround = (done: number) => {
    const since = Math.max(-1, ...wrote.slice(0, done).map(({ start }) => start));
    const until = Math.min(...wrote.slice(done).map(({ end }) => end));
    for (const [{ request, start, end }, possible] of others) {
      if (since > end || until < start) continue;
      possible.push(run.target.visible(run.oracle.peek(request, run.now)));
    }
  };
  lookAround(0);
  for (const [i, { request, answer, start }] of wrote.entries()) {
    deepStrictEqual(answer, run.target.visible(run.oracle.apply(request, run.now)));
    ok(
      wrote.slice(i + 1).every((later) => later.end > start),
      "written before its start",
    );
    lookAround(i + 1);
  }
  for (const [{ request, answer }, possible] of others) {
    if (possible.some((each) => isDeepStrictEqual(each, answer))) continue;
    deepStrictEqual(answer, possible, `${JSON.stringify(request)} was never so`);
  }
}

const numberOf = (answer: Answer): number => ("line" in answer ? answer.line.number : 0);

async function compareAll(run: Run): Promise<void> {
  const { target, oracle, now } = run;
  deepStrictEqual(await target.show(), target.visible(oracle.shown(now)));
  const lines = oracle.lines.slice(run.compared).map((line) => target.visible(line));
  deepStrictEqual(await target.lines(run.compared), lines);
  run.compared = oracle.lines.length;
  deepStrictEqual(await target.verify(), []);
}

/** Puts ids in place of numbers: 0 is the latest request. */
function requestOf(run: Run, ask: Ask): Request {
  const { asked } = run;
  const earlier = (back: number) => asked.at(-1 - (back % Math.max(asked.length, 1)));
  const id = `e${asked.length}`;
  const make = (): Request => {
    switch (ask.ask) {
      case "grant":
        return { op: "grant", id, reason: "", points: ask.points };
      case "use":
        return { op: "use", id, reason: "r", points: ask.points, partial: ask.partial };
      case "refund": {
        const policy = ask.current ? "CURRENT_MONTH" : "ORIGINAL_EXPIRY";
        const use = latest(asked, "use", ask.of) ?? "nothing";
        return { op: "refund", id, reason: "", use, points: ask.points, policy };
      }
      case "revoke":
        return { op: "revoke", id, reason: "", grant: latest(asked, "grant", ask.of) ?? "nothing" };
      case "again": {
        const before = earlier(ask.of);
        if (!before) return { op: "freeze", id, reason: "" };
        return ask.same ? before : { ...before, reason: `${before.reason}!` };
      }
      default:
        return { op: ask.ask, id, reason: "" };
    }
  };
  const request = make();
  asked.push(request);
  return request;
}

/** The id of a request of this kind; of any kind where the number is beyond them. */
function latest(asked: readonly Request[], op: Request["op"], back: number): string | undefined {
  const fitting = asked.filter((request) => request.op === op);
  return (fitting.at(-1 - back) ?? asked.at(-1 - (back % Math.max(asked.length, 1))))?.id;
}

/** The use cases on the store in memory, as two processes. */
export async function openMemory(
  rules: Rules,
  start: number,
  delays: readonly number[],
): Promise<Target> {
  const { deps, store, clock, process: another } = memoryDeps({ time: start, random: () => 0 });
  const processes = [deps, another()];
  store.force(programRef(programId), {
    programId,
    timeZone: rules.zone,
    lifetimes: structuredClone(rules.lifetimes),
    createTime: 0,
  });
  const name = { programId, userId };
  let plan: Fault[] = [];
  store.arriving = ({ op }) => (op === "commit" ? plan.shift() : undefined);
  store.latencyMs = 1;
  if (delays.length > 0) store.beforeItem = delayedBy(delays);
  return {
    visible: (told) => told,
    ask: (request, which) => answerOf(send(processes[which] as Deps, request)),
    pause,
    async show() {
      const { account, available, buckets } = await getBalance(deps, name);
      return {
        balance: available,
        lots: buckets.map(({ month, points: held, expireTime }) => ({
          month: formatMonth(month),
          points: held,
          expireTime,
        })),
        totals: { ...account.totals },
        frozen: account.frozen,
        last: account.last,
      };
    },
    async lines(from) {
      const query = { from: from + 1, to: 1e9, newestFirst: false, types: [] };
      const page = await deps.reader.entries(name, query, { size: 1_000, cursor: undefined });
      return page.items.map(lineOf);
    },
    async setTime(time) {
      clock.time = time;
    },
    async lengthen(lifetime) {
      await updateProgram(deps, { programId, lifetimeMonths: lifetime, deadline: undefined }).catch(
        refusal,
      );
    },
    async sweep() {
      for (let shard = 0; shard < shardCount; shard++) {
        await expireDueInShard(deps, { program: programId, shard }, () => true);
      }
      return (await deps.reader.get(accountRef(programId, userId)))?.value.time;
    },
    faults(faults) {
      plan = [...faults];
    },
    verify: async () => (await verifyAccount(deps, name, false)).differences,
  };
}

function send(deps: Deps, request: Request): Promise<ChangeResult> {
  const { id: eventId, reason } = request;
  const input = { programId, userId, eventId, reason, caller, deadline: undefined };
  switch (request.op) {
    case "grant":
      return grantPoints(deps, { ...input, points: request.points });
    case "use":
      return usePoints(deps, { ...input, points: request.points, allowPartial: request.partial });
    case "refund":
      return refundPoints(deps, {
        ...input,
        useEventId: request.use,
        points: request.points,
        expiredPoints: request.policy,
      });
    case "revoke":
      return revokePoints(deps, { ...input, grant: { origin: "c", eventId: request.grant } });
    case "freeze":
      return freezeAccount(deps, input);
    case "unfreeze":
      return unfreezeAccount(deps, input);
  }
}

function answerOf(result: Promise<ChangeResult>): Promise<Answer> {
  return result.then(
    ({ entry, balance, replayed }) => ({ line: lineOf(entry), balance, replayed }),
    refusal,
  );
}

/** What passes by itself is no refusal: nothing in memory may end so. */
function refusal(error: unknown): Answer {
  if (!(error instanceof DomainError) || error.retryable) throw error;
  const { reason, metadata } = error;
  const left = metadata.balance ?? metadata.refundable;
  return { refused: reason, ...(left !== undefined && { left: Number(left) }) };
}

const lineOf = (entry: LedgerEntry): Line => ({
  number: entry.number,
  type: entry.type,
  event: eventName(entry.event),
  createTime: entry.createTime,
  effectiveTime: entry.effectiveTime,
  points: entry.points,
  changes: entry.changes.map((change) => [formatMonth(change.month), change.points] as const),
  frozen: entry.frozen,
  balance: entry.balance,
  reason: entry.reason,
  expireTime: entry.expireTime,
  related: entry.relatedEvent && eventName(entry.relatedEvent),
});
