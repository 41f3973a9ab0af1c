/**
 * Random histories of an account on the domain's functions, with what the oracle shows of it at
 * each of their instants.
 */
import fc from "fast-check";
import { withSnapshot } from "../../../src/points/rules/past.ts";
import { expireForMonthEnd } from "../../../src/points/rules/points.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import { createLedger, program } from "../fixtures/ledger-fixture.ts";
import {
  lotAt,
  name,
  Oracle,
  type Request,
  type Rules,
  type Shown,
  startOfMonth,
} from "./points-oracle.ts";

const zones = ["Asia/Tokyo", "America/Havana", "Asia/Beirut", "UTC"];
const small = fc.integer({ min: 1, max: 60 });
const back = fc.nat(8);

/** A request, or what else happens to an account; `of` counts back to an earlier request. */
const steps = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant("grant" as const),
      points: small,
      // The months from the current one until the points end.
      ends: fc.option(fc.nat(12), { nil: undefined }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ op: fc.constant("use" as const), points: small }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("refund" as const),
      of: back,
      points: fc.option(small, { nil: undefined }),
      policy: fc.constantFrom("ORIGINAL_EXPIRY" as const, "CURRENT_MONTH" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("revoke" as const), of: back }) },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant("extend" as const), of: back, ends: fc.nat(12) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("hold" as const),
      points: small,
      policy: fc.constantFrom("ORIGINAL_EXPIRY" as const, "CURRENT_MONTH" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("capture" as const),
      of: back,
      points: fc.option(small, { nil: undefined }),
      more: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("release" as const), of: back }) },
  { weight: 1, arbitrary: fc.constant({ op: "freeze" as const }) },
  { weight: 2, arbitrary: fc.constant({ op: "unfreeze" as const }) },
  { weight: 2, arbitrary: fc.constant({ op: "sweep" as const }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("lengthen" as const), by: fc.nat(5) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("month" as const),
      months: fc.integer({ min: 0, max: 4 }),
      ms: fc.constantFrom(-1, 0, 1, 86_400_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ op: fc.constant("wait" as const), ms: fc.nat(200_000_000) }),
  },
);

export const pastHistories = fc.record({
  timeZone: fc.constantFrom(...zones),
  lifetime: fc.constantFrom(1, 2, 3, 12),
  played: fc.array(steps, { minLength: 100, maxLength: 250 }),
});

type History = typeof pastHistories extends fc.Arbitrary<infer H> ? H : never;

/** Plays a history on the oracle and, of what it does not refuse, on the domain. */
export function playPast({ timeZone, lifetime, played }: History) {
  const rules: Rules = { timeZone, lifetimes: [{ lifetimeMonths: lifetime, effectiveTime: 0 }] };
  const of = (): Program => program(1, { timeZone, lifetimes: structuredClone(rules.lifetimes) });
  const oracle = new Oracle(rules, (time) => time);
  const ledger = createLedger(of());
  const live = new Map<number, Shown>();
  const ids = { grant: [] as string[], use: [] as string[], hold: [] as string[] };
  let now = Date.UTC(2026, 0, 10);
  const request = (step: (typeof played)[number], id: string): Request | undefined => {
    const common = { id, reason: "", cause: "" };
    const monthAfter = (count: number) => name(lotAt(timeZone, now) + count);
    const granted = (of: number) => ids.grant.at(-1 - of) ?? "nothing";
    switch (step.op) {
      case "grant": {
        const early = step.ends !== undefined && { ends: monthAfter(step.ends) };
        return { ...common, op: "grant", points: step.points, ...early };
      }
      case "use":
        return { ...common, op: "use", points: step.points, partial: true };
      case "refund": {
        const use = ids.use.at(-1 - step.of) ?? "nothing";
        return { ...common, op: "refund", use, points: step.points, policy: step.policy };
      }
      case "revoke":
        return { ...common, op: "revoke", grant: granted(step.of) };
      case "extend":
        return { ...common, op: "extend", grant: granted(step.of), ends: monthAfter(step.ends) };
      case "hold": {
        const until = now + 86_400_000;
        return { ...common, ...step, partial: true, until };
      }
      case "capture":
      case "release":
        return { ...common, ...step, hold: ids.hold.at(-1 - step.of) ?? "nothing" };
      case "freeze":
      case "unfreeze":
        return { ...common, op: step.op };
      default:
        return undefined;
    }
  };
  for (const [i, step] of played.entries()) {
    if (step.op === "month") {
      now = Math.max(startOfMonth(timeZone, lotAt(timeZone, now) + step.months) + step.ms, now);
    } else if (step.op === "wait") now += step.ms;
    else if (step.op === "lengthen") {
      const lifetimeMonths = (rules.lifetimes.at(-1)?.lifetimeMonths ?? 0) + step.by;
      if (step.by > 0 && lifetimeMonths <= 36)
        rules.lifetimes.push({ lifetimeMonths, effectiveTime: now });
      ledger.setProgram(of());
    } else if (step.op === "sweep") {
      if (oracle.sweep(now)) {
        const swept = expireForMonthEnd(ledger.account, of(), now);
        ledger.put(swept.account, withSnapshot(swept.account, swept.entries));
      }
    }
    const asked = request(step, `e${i}`);
    const answer = asked && oracle.apply(asked, now);
    if (asked && answer && "line" in answer && !answer.replayed) {
      apply(ledger, now, asked);
      if (asked.op === "grant" || asked.op === "extend") ids.grant.push(asked.id);
      if (asked.op === "use" || asked.op === "hold") ids[asked.op].push(asked.id);
    }
    live.set(now, oracle.shown(now));
  }
  return { ledger, live, program: of() };
}

function apply(ledger: ReturnType<typeof createLedger>, now: number, asked: Request): void {
  const { id } = asked;
  if (asked.op === "grant") ledger.grant(now, id, asked.points, asked.ends);
  else if (asked.op === "use") ledger.use(now, id, asked.points, true);
  else if (asked.op === "refund") ledger.refund(now, id, asked.use, asked.points, asked.policy);
  else if (asked.op === "revoke") ledger.revoke(now, id, asked.grant);
  else if (asked.op === "extend") ledger.extend(now, id, asked.grant, asked.ends);
  else if (asked.op === "hold") ledger.hold(now, id, asked.points, asked.policy);
  else if (asked.op === "capture") ledger.capture(now, id, asked.hold, asked.points, asked.more);
  else if (asked.op === "release") ledger.release(now, asked.hold);
  else ledger.freeze(now, id, asked.op === "freeze");
}
