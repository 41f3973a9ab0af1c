/** Random histories of an account, run against the service and the oracle. */

import { deepStrictEqual, ok } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { refundPoints } from "../../../src/holds/use-cases/refund.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { formatMonth, parseMonth } from "../../../src/platform/words/month.ts";
import { type AccountName, shardCount } from "../../../src/points/ports/points.ts";
import { accountRef, programRef, ruleChangeRef } from "../../../src/points/ports/records.ts";
import { eventName, type LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { lengtheningDelayMs } from "../../../src/points/rules/program.ts";
import {
  type ChangeResult,
  extendPoints,
  freezeAccount,
  grantPoints,
  revokePoints,
  unfreezeAccount,
  usePoints,
} from "../../../src/points/use-cases/commands.ts";
import { expireDueInShard } from "../../../src/points/use-cases/expire-due.ts";
import { getPastBalance } from "../../../src/points/use-cases/past-balance.ts";
import { updateProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { getBalance } from "../../../src/points/use-cases/queries.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import { unattended } from "../fixtures/bulk-rules.ts";
import { delayedBy, pause } from "../stores/item-by-item.ts";
import { type Fault, memoryDeps } from "../stores/memory-store.ts";
import { type HoldRequest, holdsOf, isOfHold, sendForHold } from "./points-model-holds.ts";
import {
  type Answer,
  type Line,
  lotAt,
  name,
  Oracle,
  type Request,
  type Rules,
  startOfMonth,
} from "./points-oracle.ts";
import { inVirtualTime } from "./virtual-time.ts";

/** A request with numbers in place of the ids that are not known yet. */
type RequestTemplate =
  /** `ends` counts months from the current one on; absent: the whole lifetime. */
  | { readonly op: "grant"; readonly points: number; readonly ends: number | undefined }
  | { readonly op: "use"; readonly points: number; readonly partial: boolean }
  | {
      readonly op: "refund";
      readonly of: number;
      /** Absent: all that is left. */
      readonly points: number | undefined;
      readonly current: boolean;
      /** Of a capture, not of a use. */
      readonly capture: boolean;
    }
  | { readonly op: "revoke"; readonly of: number }
  | { readonly op: "extend"; readonly of: number; readonly ends: number }
  | { readonly op: "freeze" | "unfreeze" }
  | {
      readonly op: "hold";
      readonly points: number;
      readonly partial: boolean;
      readonly ms: number;
      readonly current: boolean;
    }
  | {
      readonly op: "capture";
      readonly of: number;
      /** Absent: all that is left. */
      readonly points: number | undefined;
      readonly more: boolean;
    }
  | { readonly op: "release" | "timeout"; readonly of: number }
  /** An earlier request once more, with the same content, another reason or another cause. */
  | { readonly op: "again"; readonly of: number; readonly other?: "reason" | "cause" | undefined };

interface CallTemplate {
  readonly template: RequestTemplate;
  readonly process: number;
  /** Whether the call only validates. */
  readonly dry: boolean;
}

export type Step =
  | ({ readonly step: "one" } & CallTemplate)
  | { readonly step: "together"; readonly calls: readonly CallTemplate[] }
  /** One request, the same on the other process after so many ms, and other requests meanwhile. */
  | ({
      readonly step: "repeated";
      readonly after: number;
      readonly others: readonly CallTemplate[];
    } & CallTemplate)
  | { readonly step: "wait"; readonly ms: number }
  /** Sets the time to a month's end plus `ms`. */
  | { readonly step: "month"; readonly months: number; readonly ms: number }
  | { readonly step: "lengthen"; readonly by: number }
  /** Sets the time to the instant at which the last lengthening takes effect, plus `ms`. */
  | { readonly step: "effect"; readonly ms: number }
  | { readonly step: "sweep" }
  | { readonly step: "faults"; readonly faults: readonly Fault[] };

export interface History {
  readonly timeZone: string;
  readonly lifetime: number;
  readonly start: number;
  readonly steps: readonly Step[];
  /**
   * How many ms each item of a transaction waits before it is applied: one delay after another, and
   * then from the first again. Empty: transactions are applied at one moment.
   */
  readonly delays: readonly number[];
}

const points = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 120 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000_000 }) },
);

/** The number of later requests: mostly the latest request or one of the latest. */
const of = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.nat(40) },
);

/** The points of a refund: often few, so that others follow, often all. */
const part = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 1, arbitrary: points },
  { weight: 2, arbitrary: fc.constant(undefined) },
);

/** A month at whose end points expire, counted from the current one on: mostly a possible one. */
const ends = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 3 }) },
  { weight: 2, arbitrary: fc.integer({ min: -1, max: 12 }) },
  { weight: 1, arbitrary: fc.integer({ min: -2, max: 37 }) },
);

/** For how long points are held: mostly for days, and the limits. */
const holdMs = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 60_000, max: 90 * 86_400_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(59_999, 60_000, 90 * 86_400_000, 90 * 86_400_000 + 1) },
);

const template: fc.Arbitrary<RequestTemplate> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      op: fc.constant("grant" as const),
      points,
      ends: fc.option(ends, { nil: undefined }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("extend" as const), of, ends }) },
  {
    weight: 5,
    arbitrary: fc.record({ op: fc.constant("use" as const), points, partial: fc.boolean() }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      op: fc.constant("refund" as const),
      of,
      points: part,
      current: fc.boolean(),
      capture: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("revoke" as const), of }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("hold" as const),
      points,
      partial: fc.boolean(),
      ms: holdMs,
      current: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("capture" as const),
      of,
      points: part,
      more: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("release" as const), of }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant("timeout" as const), of }) },
  { weight: 1, arbitrary: fc.constant({ op: "freeze" as const }) },
  { weight: 2, arbitrary: fc.constant({ op: "unfreeze" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("again" as const),
      of,
      other: fc.constantFrom(undefined, undefined, "reason" as const, "cause" as const),
    }),
  },
);

const call = {
  template,
  process: fc.nat(1),
  dry: fc.oneof(
    { weight: 5, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
};

/** In ms: mostly shorter than a call. */
const delay = fc.oneof({ weight: 4, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.nat(40) });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ step: fc.constant("one" as const), ...call }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant("together" as const),
      calls: fc.array(fc.record(call), { minLength: 2, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant("repeated" as const),
      ...call,
      after: delay,
      others: fc.array(fc.record(call), { maxLength: 2 }),
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
      // A lengthening that is made then takes effect at the end of the month.
      ms: fc.constantFrom(-lengtheningDelayMs, -1, 0, 0, 1, 60_000),
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

const timeZones = [
  "Asia/Tokyo",
  "UTC",
  "America/Havana",
  "Asia/Beirut",
  "America/Asuncion",
  "Pacific/Kiritimati",
];

export const history = (maxSteps: number): fc.Arbitrary<History> =>
  fc.record({
    timeZone: fc.constantFrom(...timeZones),
    lifetime: fc.oneof(fc.constantFrom(1, 2, 3), fc.constantFrom(12, 24, 36)),
    start: fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2027, 11, 31) }),
    // At least half of `maxSteps`, because long histories find more than short ones.
    steps: fc.array(step, { minLength: Math.floor(maxSteps / 2), maxLength: maxSteps }),
    delays: fc.oneof(fc.constant([]), fc.array(delay, { minLength: 1, maxLength: 9 })),
  });

const programId = "p";
const userId = "u";
const caller = asService("model");

/** Histories on the store in memory, in virtual time. */
export const histories = fc.asyncProperty(history(40), (each) =>
  inVirtualTime(() => play(each, openMemory)),
);

/** The system under test: it gets the requests of a history. */
export interface System {
  /** Leaves out of an oracle's answer, account or line what this system does not show. */
  visible<T extends object>(shown: T): T;
  /** Sends a request, or only validates it, and returns its answer or refusal. */
  send(request: Request, process: number, dry: boolean): Promise<Answer>;
  /** The clock by which holds time out, at a time of the calendar. */
  wall(now: number): number;
  /** How long points are held for a template's time. */
  holdMs(ms: number): number;
  /** Lets about so many milliseconds pass. */
  pause(ms: number): Promise<void>;
  /** Everything that a reader sees, now or as of an instant. */
  show(asOf?: number): Promise<unknown>;
  /** The lines of the ledger after the first `from`. */
  lines(from: number): Promise<Line[]>;
  setTime(time: number): Promise<void>;
  lengthen(months: number): Promise<void>;
  /** Runs the sweep and returns the time of the account, before which it does not decide. */
  sweep(): Promise<number | undefined>;
  faults(faults: readonly Fault[]): void;
  /** The differences that a verification finds. */
  verify(): Promise<readonly unknown[]>;
}

/** Runs a history and throws at the first difference from the oracle. */
export async function play(
  { timeZone, lifetime, start, steps, delays }: History,
  open: (rules: Rules, start: number, delays: readonly number[]) => Promise<System>,
): Promise<void> {
  const rules: Rules = {
    timeZone,
    lifetimes: [{ lifetimeMonths: lifetime, effectiveTime: 0 }],
  };
  const system = await open(rules, start, delays);
  const oracle = new Oracle(rules, system.wall);
  const live = new Map<number, unknown>();
  const run: Run = { system, oracle, rules, now: start, requests: [], compared: 0, live };
  for (const each of steps) {
    await playStep(run, each);
    await compareAll(run);
  }
  for (const [asOf, shown] of live) deepStrictEqual(await system.show(asOf), shown, `${asOf}`);
}

interface Run {
  readonly system: System;
  readonly oracle: Oracle;
  readonly rules: Rules;
  now: number;
  /** Every request so far, refused ones included. */
  readonly requests: Request[];
  /** How many lines of the ledger have been compared. */
  compared: number;
  /** What was shown last at each instant, unless the clock was set back behind it. */
  readonly live: Map<number, unknown>;
}

async function playStep(run: Run, step: Step): Promise<void> {
  switch (step.step) {
    case "one": {
      const request = requestOf(run, step.template);
      const { oracle, now } = run;
      const dry = step.dry && request.op !== "timeout";
      const expected = dry ? oracle.peek(request, now) : oracle.apply(request, now);
      const answer = await run.system.send(request, step.process, dry);
      deepStrictEqual(answer, run.system.visible(expected));
      return;
    }
    case "together":
      return playTogether(run, callsOf(run, step.calls));
    case "repeated": {
      const [first, ...others] = callsOf(run, [step, ...step.others]) as [Call, ...Call[]];
      const second = { ...first, process: 1 - first.process, after: step.after };
      return playTogether(run, [first, second, ...others]);
    }
    case "wait":
      return setTime(run, run.now + step.ms);
    case "month": {
      const { timeZone } = run.rules;
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
      const floor = await run.system.sweep();
      if (!wrote && floor !== undefined) {
        // Nothing expired, but the sweep may have moved the account's time to now.
        deepStrictEqual([run.oracle.time, run.now].includes(floor), true, "time of the account");
        run.oracle.adoptTime(floor);
      }
      return;
    }
    case "faults":
      run.system.faults(step.faults);
  }
}

async function setTime(run: Run, time: number): Promise<void> {
  for (const instant of run.live.keys()) if (instant >= time) run.live.delete(instant);
  run.now = time;
  await run.system.setTime(time);
}

async function lengthen(run: Run, by: number): Promise<void> {
  const { lifetimes } = run.rules;
  const latest = lifetimes.at(-1) as Rules["lifetimes"][0];
  const months = Math.min(latest.lifetimeMonths + by, 36);
  await run.system.lengthen(months);
  if (months <= latest.lifetimeMonths) return;
  lifetimes.push({
    lifetimeMonths: months,
    effectiveTime: Math.max(run.now + lengtheningDelayMs, latest.effectiveTime),
  });
}

/** A request, its process, and how many milliseconds it is sent after the others. */
interface Call {
  readonly request: Request;
  readonly process: number;
  readonly dry: boolean;
  readonly after: number;
}

/** No worker only validates a timeout. */
const callsOf = (run: Run, calls: readonly CallTemplate[]): Call[] =>
  calls.map(({ template: given, process: receiver, dry }) => {
    const request = requestOf(run, given);
    return { request, process: receiver, dry: dry && request.op !== "timeout", after: 0 };
  });

/** A request and its answer; `start` and `end` are numbers of one sequence of events. */
interface Answered {
  readonly request: Request;
  readonly dry: boolean;
  readonly answer: Answer;
  readonly start: number;
  readonly end: number;
}

/**
 * Sends concurrent calls. The oracle applies those that wrote in the order of their ledger numbers.
 * Every other answer must equal the oracle's in one of the states between the start and the end of
 * the call. So no retry of a call that wrote is ever refused.
 */
async function playTogether(run: Run, calls: readonly Call[]): Promise<void> {
  let sequence = 0;
  const all = await Promise.all(
    calls.map(async ({ request, process: receiver, dry, after }): Promise<Answered> => {
      if (after > 0) await run.system.pause(after);
      const start = sequence++;
      const answer = await run.system.send(request, receiver, dry);
      return { request, dry, answer, start, end: sequence++ };
    }),
  );
  const wrote = all
    .filter(({ dry, answer }) => !dry && "line" in answer && !answer.replayed)
    .sort((a, b) => numberOf(a.answer) - numberOf(b.answer));
  const others = new Map(
    all.filter((each) => !wrote.includes(each)).map((each) => [each, [] as Answer[]]),
  );
  // The state after `done` writes ends before the next write ends.
  const addPossibleAnswers = (done: number) => {
    const since = Math.max(-1, ...wrote.slice(0, done).map(({ start }) => start));
    const until = Math.min(...wrote.slice(done).map(({ end }) => end));
    for (const [{ request, start, end }, possible] of others) {
      if (since > end || until < start) continue;
      possible.push(run.system.visible(run.oracle.peek(request, run.now)));
    }
  };
  addPossibleAnswers(0);
  for (const [i, { request, answer, start }] of wrote.entries()) {
    deepStrictEqual(answer, run.system.visible(run.oracle.apply(request, run.now)));
    ok(
      wrote.slice(i + 1).every((later) => later.end > start),
      "committed before its start",
    );
    addPossibleAnswers(i + 1);
  }
  for (const [{ request, answer }, possible] of others) {
    if (possible.some((each) => isDeepStrictEqual(each, answer))) continue;
    deepStrictEqual(answer, possible, `${JSON.stringify(request)} had none of these answers`);
  }
}

const numberOf = (answer: Answer): number => ("line" in answer ? answer.line.number : 0);

async function compareAll(run: Run): Promise<void> {
  const { system, oracle, now, rules, live } = run;
  const shown = system.visible(oracle.shown(now));
  deepStrictEqual(await system.show(), shown);
  // Before a lengthening takes effect, a balance shows it already; one of the past does not.
  const isPending = (rules.lifetimes.at(-1)?.effectiveTime ?? 0) > now;
  // Holds are read as they are now.
  const { holds: _, ...past } = shown;
  if (now >= oracle.time && !isPending) live.set(now, past);
  else live.delete(now);
  const lines = oracle.lines.slice(run.compared).map((line) => system.visible(line));
  deepStrictEqual(await system.lines(run.compared), lines);
  run.compared = oracle.lines.length;
  deepStrictEqual(await system.verify(), []);
}

/** Replaces numbers by ids: 0 is the latest request. */
function requestOf(run: Run, template: RequestTemplate): Request {
  const { requests } = run;
  const earlier = (back: number) => requests.at(-1 - (back % Math.max(requests.length, 1)));
  const id = `e${requests.length}`;
  const monthIn = (ends: number) => name(lotAt(run.rules.timeZone, run.now) + ends);
  const endsOf = (ends: number | undefined) => (ends === undefined ? {} : { ends: monthIn(ends) });
  const make = (): Request => {
    switch (template.op) {
      case "grant":
        return {
          ...{ op: "grant", id, reason: "", cause: "c" },
          points: template.points,
          ...endsOf(template.ends),
        };
      case "use": {
        const { points, partial } = template;
        return { op: "use", id, reason: "r", cause: "", points, partial };
      }
      case "refund": {
        const policy = template.current ? "CURRENT_MONTH" : "ORIGINAL_EXPIRY";
        const { points: wanted, capture } = template;
        const use = latest(requests, [capture ? "capture" : "use"], template.of) ?? "nothing";
        const found = requests.find((each) => each.op === "capture" && each.id === use);
        const hold = found?.op === "capture" ? found.hold : latest(requests, ["hold"], 0);
        const of = { use, ...(capture && { hold: hold ?? "nothing" }) };
        return { op: "refund", id, reason: "", cause: id, ...of, points: wanted, policy };
      }
      case "revoke":
        return {
          op: "revoke",
          id,
          reason: "",
          cause: "",
          grant: latest(requests, ["grant", "extend"], template.of) ?? "nothing",
        };
      case "extend": {
        const grant = latest(requests, ["grant", "extend"], template.of) ?? "nothing";
        return { op: "extend", id, reason: "", cause: "", grant, ends: monthIn(template.ends) };
      }
      case "hold": {
        const { points: wanted, partial } = template;
        const policy = template.current ? "CURRENT_MONTH" : "ORIGINAL_EXPIRY";
        const until = run.system.wall(run.now) + run.system.holdMs(template.ms);
        return { op: "hold", id, reason: "h", cause: "", points: wanted, partial, until, policy };
      }
      case "capture": {
        const hold = latest(requests, ["hold"], template.of) ?? "nothing";
        const { points: wanted, more } = template;
        return { op: "capture", id, reason: "", cause: "o", hold, points: wanted, more };
      }
      case "release":
      case "timeout": {
        const hold = latest(requests, ["hold"], template.of) ?? "nothing";
        return { op: template.op, id, reason: "", cause: "", hold };
      }
      case "again": {
        const before = earlier(template.of);
        if (!before) return { op: "freeze", id, reason: "", cause: "" };
        const { other } = template;
        return other ? { ...before, [other]: `${before[other]}!` } : before;
      }
      default:
        return { op: template.op, id, reason: "", cause: "" };
    }
  };
  const request = make();
  requests.push(request);
  return request;
}

/** The id of an earlier request with these operations; of any operation if there are too few. */
function latest(
  requests: readonly Request[],
  ops: readonly Request["op"][],
  back: number,
): string | undefined {
  const fitting = requests.filter(({ op }) => ops.includes(op));
  return (fitting.at(-1 - back) ?? requests.at(-1 - (back % Math.max(requests.length, 1))))?.id;
}

/** Two processes with the use cases on the store in memory. */
export async function openMemory(
  rules: Rules,
  start: number,
  delays: readonly number[],
): Promise<System> {
  const { deps, store, clock, process: another } = memoryDeps({ time: start, random: () => 0 });
  const processes = [deps, another()];
  store.force(programRef(programId), {
    programId,
    timeZone: rules.timeZone,
    lifetimes: structuredClone(rules.lifetimes),
    createTime: 0,
  });
  store.force(ruleChangeRef(programId), unattended);
  const name = { programId, userId };
  let plan: Fault[] = [];
  store.arriving = ({ op }) => (op === "commit" ? plan.shift() : undefined);
  store.latencyMs = 1;
  if (delays.length > 0) store.beforeItem = delayedBy(delays);
  return {
    visible: (shown) => shown,
    send: (request, which, dry) => sendTo(processes[which] as Deps, name, request, dry),
    wall: (now) => now,
    holdMs: (ms) => ms,
    pause,
    async show(asOf) {
      const balance =
        asOf === undefined ? getBalance(deps, name) : getPastBalance(deps, name, asOf);
      const { account, availablePoints, heldPoints, buckets } = await balance;
      return {
        balance: availablePoints,
        lots: buckets.map(({ month, points: held, expireTime }) => ({
          month: formatMonth(month),
          points: held,
          expireTime,
        })),
        totals: { ...account.totals },
        held: heldPoints,
        ...(asOf === undefined && { holds: await holdsOf(deps, name) }),
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
      await updateProgram(deps, {
        ...{ programId, rules: { lifetimeMonths: lifetime } },
        ...{ caller, deadline: undefined },
      }).catch(refusal);
    },
    async sweep() {
      for (let shard = 0; shard < shardCount; shard++) {
        await expireDueInShard(deps, { programId, shard }, () => true);
      }
      return (await deps.reader.get(accountRef(programId, userId)))?.value.time;
    },
    faults(faults) {
      plan = [...faults];
    },
    verify: async () => (await verifyAccount(deps, name, false)).differences,
  };
}

async function sendTo(
  deps: Deps,
  name: AccountName,
  request: Request,
  dry: boolean,
): Promise<Answer> {
  if (!isOfHold(request)) return answerOf(send(deps, request, dry));
  const answer = await sendForHold(deps, name, caller, request, dry).catch(refusal);
  if (!("entry" in answer)) return answer;
  const { entry, ...rest } = answer;
  return { line: lineOf(entry), ...rest };
}

function send(
  deps: Deps,
  request: Exclude<Request, HoldRequest>,
  validateOnly: boolean,
): Promise<ChangeResult> {
  const { id: eventId, reason, cause } = request;
  const why = { reason, ...(cause && { cause }) };
  const input = { programId, userId, eventId, ...why, caller, validateOnly, deadline: undefined };
  switch (request.op) {
    case "grant":
      return grantPoints(deps, {
        ...input,
        points: request.points,
        expireMonth: request.ends === undefined ? undefined : parseMonth(request.ends),
      });
    case "use":
      return usePoints(deps, { ...input, points: request.points, allowPartial: request.partial });
    case "refund":
      return refundPoints(deps, {
        ...input,
        useEventId: request.use,
        holdId: request.hold,
        points: request.points,
        expiredPointsPolicy: request.policy,
      });
    case "revoke":
      return revokePoints(deps, { ...input, grant: { origin: "c", eventId: request.grant } });
    case "extend":
      return extendPoints(deps, {
        ...input,
        grant: { origin: "c", eventId: request.grant },
        expireMonth: parseMonth(request.ends),
      });
    case "freeze":
      return freezeAccount(deps, input);
    case "unfreeze":
      return unfreezeAccount(deps, input);
  }
}

function answerOf(result: Promise<ChangeResult>): Promise<Answer> {
  return result.then(
    ({ entry, availablePoints: balance, replayed }) => ({ line: lineOf(entry), balance, replayed }),
    refusal,
  );
}

/** The refusal of an error. Throws a retryable error, which no request in memory may have. */
export function refusal(error: unknown): Answer {
  if (!(error instanceof DomainError) || error.retryable) throw error;
  const { reason, metadata } = error;
  const left =
    metadata.available_points ?? metadata.refundable_points ?? metadata.capturable_points;
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
  balance: entry.availablePoints,
  reason: entry.reason,
  cause: entry.cause ?? "",
  expireTime: entry.expireTime,
  related: entry.relatedEvent && eventName(entry.relatedEvent),
});
