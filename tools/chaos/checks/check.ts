/** Checks a whole run: what its clients learned against what is stored. */
import { wrongHolds } from "../../../test/support/models/hold-checks.ts";
import { compareWithLedgers } from "../../../test/support/models/outcome-checks.ts";
import { onPoints, type Record } from "../record.ts";
import { wrongBulkGrants } from "./bulk-grants.ts";
import { wrongFeeds } from "./feeds.ts";
import { wrongPrograms } from "./programs.ts";
import { wrongReservations } from "./reservations.ts";
import type { State } from "./state.ts";

/** Everything that is wrong, each in a sentence. */
export const check = (record: Record, state: State): string[] => [
  ...record.surprises,
  ...state.differences,
  ...compareWithLedgers(onPoints(record), state.ledgers).wrong,
  ...wrongHolds(onPoints(record), state),
  ...wrongReservations(record.reservations, state),
  ...wrongBulkGrants(record.bulkGrants, state),
  ...wrongFeeds(record, state),
  ...wrongPrograms(record.programs, state),
];
