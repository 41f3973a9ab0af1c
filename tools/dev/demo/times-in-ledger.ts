/** Counts in a ledger how often somebody was granted points, which has to be once. */
import {
  type EventOrigin,
  LedgerEntry_Type,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import type { Embedded } from "./embedded.ts";
import { programId } from "./play.ts";

/** How many entries of the user's ledger grant points of this origin. */
export async function timesInLedger(
  { points }: Pick<Embedded, "points">,
  userId: string,
  origin: EventOrigin,
): Promise<number> {
  const types = [LedgerEntry_Type.ISSUED];
  const { entries } = await points.listLedgerEntries({ programId, userId, types });
  return entries.filter(({ event }) => event?.origin === origin).length;
}
