/**
 * Compares what callers learned of their operations on points with the ledgers: an acknowledged
 * operation has exactly one entry, an ambiguous one has one or none, a refused one none, and every
 * refusal was right during its call.
 */
import { isDeepStrictEqual } from "node:util";
import { eventName } from "../../../src/points/rules/ledger.ts";
import { wrongRefusals } from "./refusal-checks.ts";
import { type KnownEntry, keyOf, keyOfEntry, leftOf, type Outcome } from "./workload-operations.ts";

/** How the operations ended. */
interface Counts {
  readonly acknowledged: number;
  readonly refused: number;
  readonly ambiguous: number;
  readonly ambiguousButDone: number;
}

/** What is wrong with the outcomes or the ledgers, and how many operations ended how. */
export function compareWithLedgers(
  outcomes: readonly Outcome[],
  ledgers: ReadonlyMap<string, readonly KnownEntry[]>,
): { readonly wrong: string[]; readonly counts: Counts } {
  const counts = { acknowledged: 0, refused: 0, ambiguous: 0, ambiguousButDone: 0 };
  const wrong: string[] = [];
  for (const outcome of outcomes) {
    const key = keyOf(outcome.operation);
    const ledger = ledgers.get(outcome.operation.userId) ?? [];
    const found = ledger.filter((entry) => keyOfEntry(entry) === key);
    const end = endOf(outcome, found.length > 0);
    counts[end] += 1;
    if (end === "ambiguous") counts.ambiguousButDone += found.length;
    wrong.push(...wrongEntries(outcome, end, found));
  }
  const byUser = Map.groupBy(outcomes, ({ operation }) => operation.userId);
  for (const [userId, ledger] of ledgers) {
    const own = byUser.get(userId) ?? [];
    wrong.push(...wrongNumbers(userId, ledger), ...wrongRefusals(own, ledger));
    wrong.push(...unsentEntries(userId, own, ledger), ...wrongSums(userId, ledger));
  }
  return { wrong, counts };
}

/** Entries that no operation has made. The release by a timeout has no reason. */
function unsentEntries(
  userId: string,
  own: readonly Outcome[],
  ledger: readonly KnownEntry[],
): string[] {
  const sent = new Set(own.map(({ operation }) => keyOf(operation)));
  const ids = new Set(["", ...own.map(({ operation }) => operation.id)]);
  const isSent = (entry: KnownEntry) =>
    entry.type === "RELEASED" ? ids.has(entry.reason) : sent.has(keyOfEntry(entry));
  return ledger
    .filter((entry) => ["c", "h"].includes(entry.event.origin) && !isSent(entry))
    .map(({ number, event }) => {
      return `entry ${number} of ${userId} is ${eventName(event)}, which nobody has sent`;
    });
}

/** Grants, uses and holds of which more points were taken or returned than they have. */
function wrongSums(userId: string, ledger: readonly KnownEntry[]): string[] {
  const reversed = new Set(ledger.flatMap(({ relatedEvent: of }) => (of ? [eventName(of)] : [])));
  return ledger
    .filter(({ event }) => reversed.has(eventName(event)))
    .flatMap((entry) => {
      const name = eventName(entry.event);
      const more = -leftOf(entry, ledger);
      return more > 0 ? [`${more} points more than ${name} of ${userId} has are reversed`] : [];
    });
}

/** After one attempt was refused, another one with an ambiguous result may have succeeded. */
function endOf({ attempts }: Outcome, isDone: boolean): "acknowledged" | "ambiguous" | "refused" {
  if (attempts.some(({ answer }) => answer)) return "acknowledged";
  const isAmbiguous = attempts.some(({ error }) => error?.retryable);
  const isRefused = attempts.some(({ error }) => error && !error.retryable);
  return isAmbiguous && (!isRefused || isDone) ? "ambiguous" : "refused";
}

/** What is wrong with the entries of one operation. */
function wrongEntries(
  { operation: { id, userId }, attempts }: Outcome,
  end: ReturnType<typeof endOf>,
  found: readonly KnownEntry[],
): string[] {
  const name = `${id} of ${userId}`;
  const [entry] = found;
  const answers = attempts.flatMap(({ answer }) => answer ?? []);
  const numbers = found.map(({ number }) => number).join(", ");
  return [
    ...(found.length > 1 ? [`${name} was done ${found.length} times, as entries ${numbers}`] : []),
    ...(end === "acknowledged" && !entry ? [`${name} was acknowledged, and has no entry`] : []),
    ...(end === "refused" && entry ? [`${name} was refused, and is entry ${entry.number}`] : []),
    ...answers.flatMap((answer) =>
      entry && !isKnownAs(answer.entry, entry)
        ? [`${name} was answered ${text(answer.entry)}, and is ${text(entry)}`]
        : [],
    ),
    // At most one attempt made the change, all others were replayed.
    ...(answers.filter(({ replayed }) => !replayed).length > 1
      ? [`${name} was answered twice as not replayed`]
      : []),
  ];
}

/** Whether everything that a caller has learned of an entry is stored. */
const isKnownAs = (known: KnownEntry, stored: KnownEntry): boolean =>
  Object.entries(known).every(([field, value]) =>
    isDeepStrictEqual(value, stored[field as keyof KnownEntry]),
  );

/** Numbers that are not those from 1 on, and balances below 0. */
const wrongNumbers = (userId: string, ledger: readonly KnownEntry[]): string[] =>
  ledger.flatMap(({ number, availablePoints }, i) => [
    ...(number === i + 1 ? [] : [`entry ${i + 1} of ${userId} has the number ${number}`]),
    ...(availablePoints < 0 ? [`entry ${number} of ${userId} leaves ${availablePoints}`] : []),
  ]);

const text = ({ number, type, points, availablePoints }: KnownEntry): string =>
  `entry ${number}, ${type} ${points}, balance ${availablePoints}`;
