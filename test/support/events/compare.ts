/**
 * Compares a consumer's copy with the tables when nothing changes any more, and the copy has the
 * last event: every entry, record and notification, and every crossing by the ledgers.
 */
import { isDeepStrictEqual } from "node:util";
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import {
  type BalanceCrossed,
  BalanceCrossed_Direction as Direction,
} from "../../../src/gen/meguri/events/v1/event_pb.ts";
import {
  type LedgerEntry,
  LedgerEntrySchema,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import type { EventCopy } from "./copy.ts";
import type { Tables } from "./tables.ts";

/** Limits that programs have had in all of a run, by the id of the program. */
export type Limits = ReadonlyMap<
  string,
  { readonly below: readonly number[]; readonly above: readonly number[] }
>;

/** All differences, each in a sentence; the faults that the copy has noted come first. */
export const differences = (copy: EventCopy, tables: Tables, limits: Limits): string[] => [
  ...copy.faults,
  ...wrongLedgers(copy, tables),
  ...wrongRecords(copy, tables),
  ...wrongCrossings(copy, limits),
];

function wrongLedgers({ ledgers }: EventCopy, tables: Tables): string[] {
  const accounts = new Set([...ledgers.keys(), ...tables.ledgers.keys()]);
  return [...accounts].flatMap((account) => {
    const stored = tables.ledgers.get(account) ?? [];
    const own = (ledgers.get(account) ?? []).map((entry) => toJson(LedgerEntrySchema, entry));
    const ownByNumber = new Map(own.map((entry) => [numberOf(entry as JsonObject), entry]));
    const numbers = new Set([...stored.map(numberOf), ...ownByNumber.keys()]);
    const storedByNumber = new Map(stored.map((entry) => [numberOf(entry), entry]));
    return [...numbers].flatMap((number) => {
      const what = whyDifferent(
        ownByNumber.get(number) as JsonObject | undefined,
        storedByNumber.get(number),
      );
      return what ? [`${account}, entry ${number}: ${what}`] : [];
    });
  });
}

const numberOf = (entry: JsonObject): string => String(entry.number);

function wrongRecords({ records, doubtful }: EventCopy, tables: Tables): string[] {
  const names = new Set([...records.keys(), ...tables.records.keys()]);
  return [...names].flatMap((name) => {
    if (name.startsWith("account ")) return [];
    const stored = tables.records.get(name);
    const own = records.get(name)?.data;
    const isGone = name.startsWith("notification ") && own?.actorCount === undefined;
    // The table cannot tell of a notification that was deleted in a gap.
    if (!stored && (isGone || doubtful.has(name))) return [];
    const what = whyDifferent(isGone ? undefined : own, stored);
    return what ? [`${name}: ${what}`] : [];
  });
}

/** Why what the copy has is not what the table has; undefined when it is. */
function whyDifferent(own: JsonObject | undefined, stored: JsonObject | undefined) {
  if (isDeepStrictEqual(own, stored)) return undefined;
  if (!own || !stored) return own ? "is in the copy only" : "is not in the copy";
  const fields = [...new Set([...Object.keys(own), ...Object.keys(stored)])].filter(
    (field) => !isDeepStrictEqual(own[field], stored[field]),
  );
  const texts = fields.map(
    (field) => `${field} is ${JSON.stringify(own[field])}, not ${JSON.stringify(stored[field])}`,
  );
  return texts.join(", ");
}

/** Compares the crossings of each account with those that follow from its entries. */
function wrongCrossings({ ledgers, crossings }: EventCopy, limits: Limits): string[] {
  const accounts = new Set([...ledgers.keys(), ...crossings.keys()]);
  return [...accounts].flatMap((account) => {
    const own = (crossings.get(account) ?? []).map(textOf);
    const wanted = wantedCrossings(ledgers.get(account) ?? [], limits.get(programOf(account)));
    const missing = wanted.filter((each) => !own.includes(each));
    const extra = own.filter((each) => !wanted.includes(each));
    return [
      ...missing.map((each) => `${account}: the crossing ${each} is missing`),
      ...extra.map((each) => `${account}: the crossing ${each} was none`),
    ];
  });
}

const programOf = (account: string): string => account.slice("account ".length).split("/")[0] ?? "";

const textOf = (crossing: Omit<BalanceCrossed, "$typeName" | "programId" | "userId">): string => {
  const { direction, limitPoints, entryNumber, previousAvailablePoints, availablePoints } =
    crossing;
  const side = direction === Direction.BELOW ? "below" : "above";
  const change = `${previousAvailablePoints} to ${availablePoints}`;
  return `${side} ${limitPoints} at ${entryNumber}, ${change}`;
};

function wantedCrossings(
  ledger: readonly LedgerEntry[],
  { below, above } = { below: [] as readonly number[], above: [] as readonly number[] },
): string[] {
  return ledger.flatMap(({ number, availablePoints: after }, i) => {
    const before = ledger[i - 1]?.availablePoints ?? 0n;
    const crossed = (direction: Direction) => (limit: number) =>
      textOf({
        ...{ direction, limitPoints: BigInt(limit), entryNumber: number },
        ...{ previousAvailablePoints: before, availablePoints: after },
      });
    return [
      ...below.filter((limit) => before >= limit && after < limit).map(crossed(Direction.BELOW)),
      ...above.filter((limit) => before <= limit && after > limit).map(crossed(Direction.ABOVE)),
    ];
  });
}
