/** The activity that names the months of a month-end sweep. */
import { readMonths } from "../src/app/points/expire-due.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import type { MonthEndMonths } from "../src/contract/month-ends.ts";
import { check } from "./checks.ts";

export function monthEndActivities(deps: Deps) {
  return {
    /** Returns the month that has ended, and the month up to which points have expired. */
    async readMonthEnd(input: { readonly program: string }): Promise<MonthEndMonths> {
      const { program: programId } = check(input, { program: "string" });
      return readMonths(deps, programId);
    },
  };
}
