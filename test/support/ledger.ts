import {
  type LedgerEntry,
  LedgerEntry_TypeSchema,
} from "../../src/gen/meguri/points/v1/ledger_entry_pb.ts";

/** An entry in one line: number, type, points, changes and balance, `6 USED 80 (02:-80) 40`. */
export function lineOf({ number, type, points, changes, balance }: LedgerEntry): string {
  const name = LedgerEntry_TypeSchema.value[type]?.localName;
  const months = changes.map((change) => `${change.month.slice(5)}:${change.points}`);
  return `${number} ${name} ${points} (${months.join(" ")}) ${balance}`;
}
