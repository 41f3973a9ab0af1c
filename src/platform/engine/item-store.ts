/** The store of the commit engine: its reads, its transactions and the size of a transaction. */

import type { ClockReading } from "../ports/clock-reading.ts";
import type { Kind, Records, Ref } from "../ports/records.ts";

/** A record as the store holds it; version 0 and no value when it does not exist. */
export interface Loaded<K extends Kind = Kind> {
  readonly value: Records[K] | undefined;
  readonly version: number;
}

/** A conditional write: it succeeds only if the record still has the version that was loaded. */
export interface Write {
  readonly ref: Ref;
  /** `put` writes the whole record; `check` changes nothing and only checks the condition. */
  readonly op: "put" | "delete" | "check";
  /** The value of a `put`. */
  readonly value: Records[Kind] | undefined;
  /** The version that was loaded; 0: the record must not exist. */
  readonly version: number;
  /** The version after the write; 0: the record does not exist any more. */
  readonly next: number;
}

/** The result of a commit. All kinds but `unknown` are definite. */
export type CommitResult =
  | { readonly kind: "committed" }
  /** Conditions failed; `found` has the records that exist instead. Nothing is written. */
  | { readonly kind: "failed"; readonly found: ReadonlyMap<Ref, Loaded> }
  /** Another transaction on one of the items is in flight. Nothing is written. */
  | { readonly kind: "conflict" }
  /** The store throttled the request. Nothing is written. */
  | { readonly kind: "throttled" }
  /** Ambiguous: no answer. A second commit of the same writes under the same token is definite. */
  | { readonly kind: "unknown" };

/** Counts the items of a transaction while its writes are collected, in their order. */
export interface ItemCounter {
  /** Adds a write of one more record. Returns the number of items so far. */
  add(write: Write): number;
}

/** The items of a store, with the transactions of DynamoDB. */
export interface ItemStore {
  /** How many items one transaction reads or writes at most. Items are small: bytes never count. */
  readonly maxItems: number;
  /** Counts items as the store packs them: several records may share one. */
  countItems(): ItemCounter;
  /**
   * Reads strongly consistently, in the order requested, each record at its own moment: the result
   * may have one record after and another before the same transaction. Throws THROTTLED
   * and STORE_UNAVAILABLE.
   */
  read(refs: readonly Ref[]): Promise<readonly Loaded[]>;
  /**
   * Reads up to `maxItems` records at one moment. Undefined while a transaction that writes one of
   * them is in flight. Of records that share an item, it finds the first one only. Throws
   * THROTTLED and STORE_UNAVAILABLE.
   */
  readAtomically(refs: readonly Ref[]): Promise<readonly Loaded[] | undefined>;
  /**
   * Writes everything or nothing. A second commit of the same writes under the same token does
   * nothing and has the result of the first; of writes that only create or delete one record, it
   * may fail when the record has changed since. Throws an error that is no result, and
   * LIMIT_EXCEEDED when the records of a target fill a partition: nothing is written then. With
   * `decided`, a moment before the decision, nothing is sent later than the engine's patience
   * after it.
   */
  commit(writes: readonly Write[], token: string, decided?: ClockReading): Promise<CommitResult>;
}

/** The name of a record, unique among all kinds. */
export const nameOf = (ref: Ref): string => `${ref.kind}#${ref.id}`;

/** The refs without duplicates. */
export const distinct = <K extends Kind>(refs: readonly Ref<K>[]): Ref<K>[] => [
  ...new Map(refs.map((ref) => [nameOf(ref), ref])).values(),
];
