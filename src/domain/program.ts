import { DomainError } from "./errors.ts";
import type { Instant, Month } from "./month.ts";
import { monthAt, monthStart } from "./month.ts";

/** A lifetime and the instant from which it holds. */
export interface LifetimeChange {
  readonly lifetimeMonths: number;
  readonly effectiveTime: Instant;
}

/** A points program. Its zone never changes; its lifetimes are a history, oldest first, growing. */
export interface Program {
  readonly programId: string;
  readonly timeZone: string;
  readonly lifetimes: readonly LifetimeChange[];
  readonly createTime: Instant;
}

/** The program that exists from the start. */
export const defaultProgramId = "default";
export const defaultTimeZone = "Asia/Tokyo";
export const defaultLifetimeMonths = 12;
export const maxLifetimeMonths = 36;

/** A lengthening takes effect this long after it is written, so that every server knows of it. */
export const lengtheningDelayMs = 120_000;

/** The lifetime in months that holds at `now`. */
export function lifetimeAt(program: Program, now: Instant): number {
  let months = (program.lifetimes[0] as LifetimeChange).lifetimeMonths;
  for (const change of program.lifetimes)
    if (change.effectiveTime <= now) months = change.lifetimeMonths;
  return months;
}

/**
 * The instant at which points granted in `month` expire: the first instant of month + lifetime in
 * the program's zone. A lengthening moves it for what has not yet expired by then; what has expired
 * at the very instant of the change stays expired.
 */
export function expireTime(program: Program, month: Month): Instant {
  const { lifetimes, timeZone } = program;
  for (let i = 0; ; i++) {
    const expire = monthStart(timeZone, month + (lifetimes[i] as LifetimeChange).lifetimeMonths);
    const next = lifetimes[i + 1];
    if (!next || expire <= next.effectiveTime) return expire;
  }
}

/**
 * The latest month whose points have expired at `now`; those of the months before it have, too.
 * Behind a lengthening it is later than month − lifetime, until the months between have passed.
 */
export function expiredMonth(program: Program, now: Instant): Month {
  let month =
    monthAt(program.timeZone, now) - (program.lifetimes[0] as LifetimeChange).lifetimeMonths;
  while (expireTime(program, month) > now) month -= 1;
  return month;
}

/** The program with its lifetime lengthened to `months`; the same program if it is that already. */
export function lengthen(program: Program, months: number, now: Instant): Program {
  const latest = program.lifetimes.at(-1) as LifetimeChange;
  if (months === latest.lifetimeMonths) return program;
  if (months < latest.lifetimeMonths) {
    throw new DomainError("WRONG_STATE", "a lifetime can be lengthened, never shortened", {
      lifetime_months: String(latest.lifetimeMonths),
    });
  }
  const from = Math.max(now + lengtheningDelayMs, latest.effectiveTime);
  return {
    ...program,
    lifetimes: [...program.lifetimes, { lifetimeMonths: months, effectiveTime: from }],
  };
}
