import type { Ref } from "../../app/ports/records.ts";
import type { CachedRecord, Outcome, Snapshot } from "./batch.ts";

/** The records that one TransactGetItems has read, and when it was sent. */
export interface Validated {
  readonly records: ReadonlySet<CachedRecord>;
  readonly at: number;
}

/**
 * Read validation: what has to be read at one moment before the outcomes may be delivered; nothing
 * when what was read covers them. A call that writes is validated by the conditions of its
 * transaction. One that writes nothing, a refusal above all, holds if everything that it looked at
 * was so at one moment since it came in. Several plain reads do not show one moment: they may see a
 * part of a transaction that is under way, so that the retry of a use would see the account after
 * the use, but not yet the event key that tells that it is done. One record alone, as for a
 * replayed answer, needs no more than any read of it.
 */
export function toValidate(
  outcomes: readonly Outcome[],
  snapshot: Snapshot,
  { records, at }: Validated,
): Ref[] {
  const silent = outcomes.filter(({ writes, readSet }) => !writes && readSet.size > 0);
  const isValid = silent.every(({ pending: { start }, readSet }) => {
    const read = [...readSet.keys()];
    if (read.length === 1)
      return (snapshot.get(read[0] as string)?.at ?? Number.NEGATIVE_INFINITY) >= start;
    // A record that a failed condition has put in its place since is of another moment.
    return at >= start && read.every((name) => records.has(snapshot.get(name) as CachedRecord));
  });
  if (isValid) return [];
  return [...new Map(silent.flatMap(({ readSet }) => [...readSet])).values()];
}
