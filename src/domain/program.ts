import { DomainError } from "./errors.ts";
import type { Instant, Month } from "./month.ts";
import { monthAt, monthStart } from "./month.ts";

/** A lifetime and the instant from which it holds. */
export interface LifetimeChange {
  readonly months: number;
  readonly from: Instant;
}

/** A points program. Its zone never changes; its lifetimes are a history, oldest first, growing. */
export interface Program {
  readonly id: string;
  readonly zone: string;
  readonly lifetimes: readonly LifetimeChange[];
  readonly createTime: Instant;
}

/** The program that exists from the start. */
export const defaultProgramId = "default";
export const defaultZone = "Asia/Tokyo";
export const defaultLifetime = 12;
export const maxLifetime = 36;

/** A lengthening takes effect this long after it is written, so that every server knows of it. */
export const lengtheningDelayMs = 120_000;

/** The lifetime in months that holds at `now`. */
export function lifetimeAt(program: Program, now: Instant): number {
  let months = (program.lifetimes[0] as LifetimeChange).months;
  for (const change of program.lifetimes) if (change.from <= now) months = change.months;
  return months;
}

/**
 * The instant at which points granted in `month` expire: the first instant of month + lifetime in
 * the program's zone. A lengthening moves it for what has not yet expired by then; what has expired
 * at the very instant of the change stays expired.
 */
export function expireTime(program: Program, month: Month): Instant {
  const { lifetimes, zone } = program;
  for (let i = 0; ; i++) {
    const expire = monthStart(zone, month + (lifetimes[i] as LifetimeChange).months);
    const next = lifetimes[i + 1];
    if (!next || expire <= next.from) return expire;
  }
}

/**
 * The latest month whose points have expired at `now`; those of the months before it have, too.
 * Behind a lengthening it is later than month − lifetime, until the months between have passed.
 */
export function expiredMonth(program: Program, now: Instant): Month {
  let month = monthAt(program.zone, now) - (program.lifetimes[0] as LifetimeChange).months;
  while (expireTime(program, month) > now) month -= 1;
  return month;
}

/** The program with its lifetime lengthened to `months`; the same program if it is that already. */
export function lengthen(program: Program, months: number, now: Instant): Program {
  const latest = program.lifetimes.at(-1) as LifetimeChange;
  if (months === latest.months) return program;
  if (months < latest.months) {
    throw new DomainError("WRONG_STATE", "a lifetime can be lengthened, never shortened", {
      lifetime_months: String(latest.months),
    });
  }
  const from = Math.max(now + lengtheningDelayMs, latest.from);
  return { ...program, lifetimes: [...program.lifetimes, { months, from }] };
}
