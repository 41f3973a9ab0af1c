/** Checks what a consumer of events has learned against the tables. */

import { defaultProgramId } from "../../../src/platform/words/program-ids.ts";
import { differences } from "../../../test/support/events/compare.ts";
import type { EventCopy } from "../../../test/support/events/copy.ts";
import type { Tables } from "../../../test/support/events/tables.ts";
import { balanceLimits } from "../clients/events.ts";

/**
 * What is not in the copy as in the tables, and what the events before it contradict: holes, one
 * change under two ids, an order that goes back. DynamoDB Local loses no changes, so there may be
 * no gap either.
 */
export function wrongEvents(copy: EventCopy, tables: Tables): string[] {
  const { gaps } = copy.counts;
  const limits = new Map([[defaultProgramId, balanceLimits]]);
  return [
    ...(gaps > 0 ? [`${gaps} gaps were found in streams that have lost nothing`] : []),
    ...differences(copy, tables, limits).map((what) => `events: ${what}`),
  ];
}
