/** The parts that all workflows over the accounts of a program share. */
import type { SnakeCased } from "../../platform/contract/payload-names.ts";
import type { FailedAccount as Failed } from "../rules/jobs.ts";

/** The number of shards of a program's expiry index. */
export const shardCount = 16;

/** An account that failed in work on many accounts. The next run tries it again. */
export type FailedAccount = SnakeCased<Failed>;

/** The accounts that failed in work on many accounts. */
export interface FailureCounts {
  readonly failed: number;
  /** The first 100 accounts that failed. */
  readonly failures: readonly FailedAccount[];
}

/** A message or report names at most this many accounts; the details of a failure name 100. */
const maxNamed = 20;

/** The first accounts that failed, with their reasons, as an operator reads them. */
export function namesOf({ failed, failures }: FailureCounts): string {
  const names = failures.slice(0, maxNamed).map(({ user_id, reason }) => `${user_id} (${reason})`);
  const rest = (failed - names.length).toLocaleString("en");
  return names.join(", ") + (failed > names.length ? ` and ${rest} more` : "");
}

/** The same behind a count of failures; nothing when none has failed. */
export const failedNames = (counts: FailureCounts): string =>
  counts.failed > 0 ? `: ${namesOf(counts)}` : "";
