/**
 * A baseline for bulk grants, the workflow: one activity for each row, so many at a time. It has to
 * be in a file of its own, because Temporal bundles it for its sandbox.
 */
import { proxyActivities } from "@temporalio/workflow";
import type { RowActivities } from "./row-activities-worker.ts";

const { grantRow } = proxyActivities<RowActivities>({ startToCloseTimeout: "1 minute" });

/** More rows at a time than a bulk grant: each of them also waits for Temporal. */
const rowsAtOnce = 64;

/** Grants rows to `count` users, from number `first` on. */
export async function rowActivities(first: number, count: number): Promise<void> {
  let next = first;
  const work = async () => {
    while (next < first + count) await grantRow(next++);
  };
  await Promise.all(Array.from({ length: rowsAtOnce }, work));
}
