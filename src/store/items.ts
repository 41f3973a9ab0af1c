import type { Kind, Records, Ref } from "../app/ports.ts";

/** A record as the store holds it; version 0 and no value when it is not there. */
export interface Loaded<K extends Kind = Kind> {
  readonly value: Records[K] | undefined;
  readonly version: number;
}

/** A record to be written whole, provided that it is still as it was loaded. */
export interface Write {
  readonly ref: Ref;
  readonly value: Records[Kind];
  /** The version it was loaded under; 0: it must not be there. The written one is 1 higher. */
  readonly version: number;
}

/** What became of a transaction. All but `unknown` are definite. */
export type CommitResult =
  | { readonly kind: "committed" }
  /** Conditions that failed, with the records as they were found instead. Nothing is written. */
  | { readonly kind: "failed"; readonly found: ReadonlyMap<Ref, Loaded> }
  /** Another transaction was under way on one of the items. Nothing is written. */
  | { readonly kind: "conflict" }
  /** The store would not take it now. Nothing is written. */
  | { readonly kind: "throttled" }
  /** No answer: it may or may not be written. The same again under the same token tells. */
  | { readonly kind: "unknown" };

/** The items of the store, one transaction at a time. DynamoDB's and the in-memory one agree. */
export interface Items {
  /** What one transaction holds at most. */
  readonly limits: { readonly writes: number; readonly bytes: number };
  /** An upper bound for the size of an item of this kind, in bytes. */
  maxBytes(kind: Kind): number;
  /** Reads strongly consistently, in the order asked. Throws STORE_UNAVAILABLE. */
  read(refs: readonly Ref[]): Promise<readonly Loaded[]>;
  /** The same for one record, but nothing while a transaction that writes it is under way. */
  readFree(ref: Ref): Promise<Loaded | undefined>;
  /** All or nothing. A second commit of the same writes under the same token does nothing. */
  commit(writes: readonly Write[], token: string): Promise<CommitResult>;
}

/** The name of a record among all records. */
export const nameOf = (ref: Ref): string => `${ref.kind}#${ref.id}`;
