/** Read validation: whether what a call has read was still so when it was answered. */
import type { Ref } from "../../app/ports/records.ts";
import type { CachedRecord, Outcome, Snapshot } from "./batch.ts";

/** The records that one TransactGetItems has read, and when it was sent. */
export interface Validated {
  readonly records: ReadonlySet<CachedRecord>;
  readonly at: number;
}

/**
 * The records that one TransactGetItems has to read before the outcomes may be delivered; empty
 * when the last such read covers them (docs/decisions/0013).
 *
 * A call that writes is validated by the conditions of its transaction. A call that writes
 * nothing, such as a refusal, is valid if all records that it has read had these versions at one
 * moment since the call arrived. Several plain reads do not show one moment: they may see half of a
 * transaction, so that the retry of a use would see the account after the use, but not the event
 * key that makes it a replay. What an earlier call of the batch has changed counts as read: the
 * conditions of the transaction show that the version before this change is the latest, but not
 * that the other records were read since. A call that has read a single record needs any read of
 * it since it arrived.
 */
export function toValidate(
  outcomes: readonly Outcome[],
  snapshot: Snapshot,
  { records, at }: Validated,
): Ref[] {
  const withoutWrites = outcomes.filter(({ writes, readSet }) => !writes && readSet.size > 0);
  const isValid = withoutWrites.every(({ pending: { start }, readSet }) => {
    const names = [...readSet.keys()];
    if (names.length === 1) {
      return (snapshot.get(names[0] as string)?.at ?? Number.NEGATIVE_INFINITY) >= start;
    }
    // A failed condition may have replaced a record since: the new one is of another moment.
    return at >= start && names.every((name) => records.has(snapshot.get(name) as CachedRecord));
  });
  if (isValid) return [];
  return [...new Map(withoutWrites.flatMap(({ readSet }) => [...readSet])).values()];
}
