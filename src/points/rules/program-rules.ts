/** The rules of a program that other people have to approve before they change. */
import { type BulkRules, bulkRulesAsList, isLowering } from "./bulk-rules.ts";
import type { ProgramNotices } from "./program.ts";

export interface ProgramRules {
  readonly lifetimeMonths: number;
  readonly notices: ProgramNotices;
  readonly bulkRules: BulkRules;
}

/**
 * Whether a change needs time in which everybody can look at it: anything about bulk grants becomes
 * easier, or the lifetime longer, which cannot be undone.
 */
export const isDelayed = (from: ProgramRules, to: ProgramRules): boolean =>
  to.lifetimeMonths > from.lifetimeMonths || isLowering(from.bulkRules, to.bulkRules);

export const isSameRules = (a: ProgramRules, b: ProgramRules): boolean =>
  JSON.stringify(rulesAsList(a)) === JSON.stringify(rulesAsList(b));

/** All values of the rules in a fixed order, for etags, digests and comparisons. */
export const rulesAsList = ({ lifetimeMonths, notices, bulkRules }: ProgramRules) => [
  lifetimeMonths,
  [notices.expiryDays, notices.reservedGrants],
  bulkRulesAsList(bulkRules),
];
