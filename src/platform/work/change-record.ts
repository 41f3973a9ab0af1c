/** Changes one record in a transaction of its own. */

import type { CallLimits } from "../ports/call.ts";
import type { Now } from "../ports/clock.ts";
import type { Deps } from "../ports/deps.ts";
import type { Transaction } from "../ports/engine.ts";
import type { Kind, Records, Ref } from "../ports/records.ts";

/** The record to be changed, and how the engine treats the transaction. */
interface RecordChange<K extends Kind, R> {
  readonly ref: Ref<K>;
  readonly call?: CallLimits | undefined;
  /** Calls with the same key are decided one after another. The record itself by default. */
  readonly key?: Ref;
  /** True when the record probably does not exist, so that it is not read before the decision. */
  readonly expectAbsent?: boolean;
  /** Puts what is written together with a change. */
  readonly together?: (
    tx: Transaction,
    now: Now,
    change: { readonly before: Records[K] | undefined; readonly record: R },
  ) => void;
}

/** The record after the change. `now` is the time at which it was decided. */
interface ChangedRecord<R> {
  readonly record: R;
  readonly isChanged: boolean;
  readonly now: Now;
}

/**
 * Writes what `change` makes of the record: nothing when it returns the same object, and undefined
 * deletes the record. `change` is pure and may run several times. Refusals: those of `change`.
 */
export function changeRecord<K extends Kind, R extends Records[K] | undefined>(
  { engine }: Pick<Deps, "engine">,
  { ref, key = ref, expectAbsent = false, call, together }: RecordChange<K, R>,
  change: (record: Records[K] | undefined, now: Now) => R,
): Promise<ChangedRecord<R>> {
  return engine.transact({
    key,
    readSet: expectAbsent ? [] : [ref],
    expectAbsent: expectAbsent ? [ref] : [],
    call,
    decide(tx, now) {
      const before = tx.get(ref);
      const record = change(before, now);
      const isChanged = record !== before;
      if (record === undefined) tx.delete(ref);
      else if (isChanged) tx.put(ref, record);
      if (isChanged) together?.(tx, now, { before, record });
      return { record, isChanged, now };
    },
  });
}
