/** The report of what a program owes its members. */
import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import { quantity } from "../../platform/words/quantities.ts";
import type { CountedLiability } from "../rules/liability.ts";
import type { JobKind } from "./jobs.ts";
import { failedNames } from "./points.ts";

/** Asks for a report as of the instant of the call. */
export type LiabilityRequest = {
  /** The instant after which the totals begin; absent for the totals of all time. */
  readonly since?: number | undefined;
};

export const liabilityKind: JobKind<CountedLiability, LiabilityRequest> = {
  name: "liability-report",
  workflowType: workflowTypes.liabilityReport,
  segments: 16,
  waitsForEntries: true,
  nothing: { accounts: 0, members: 0, months: {}, totals: {}, failed: 0, failures: [] },
  sentence: (sum) =>
    `Read ${quantity(sum.accounts, "account")}, of which ${sum.members} had points; ` +
    `${sum.failed} failed${failedNames(sum)}.`,
};
