/** What the commit engine asks of a store: reads, transactions and how much one of them holds. */

import type { MembersQuery } from "../../app/ports/engine.ts";
import type { Kind, Records, Ref } from "../../app/ports/records.ts";
import type { Members } from "../../domain/notification.ts";

/**
 * The version of a record that is put where there is none: 1, or the number it was made at where
 * records are deleted and made again, so that no two of one name ever bear the same version.
 */
export function firstVersion(kind: Kind, value: Records[Kind]): number {
  if (kind === "reaction") return (value as Records["reaction"]).version;
  if (kind === "unreadGroup") return (value as Records["unreadGroup"]).version;
  return 1;
}

/** A record as the store holds it; version 0 and no value when it is not there. */
export interface Loaded<K extends Kind = Kind> {
  readonly value: Records[K] | undefined;
  readonly version: number;
}

/** What is done to a record, provided that it is still as it was loaded. */
export interface Write {
  readonly ref: Ref;
  /** `put` writes it whole; `check` leaves it and holds the transaction to its condition. */
  readonly op: "put" | "delete" | "check";
  /** What is put. */
  readonly value: Records[Kind] | undefined;
  /** The version it was loaded under; 0: it must not be there. */
  readonly version: number;
  /** The version it has afterwards; 0: it is not there. */
  readonly next: number;
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

/** Counts the items of a transaction while its writes are collected, in their order. */
export interface ItemCounter {
  /** Adds a write of another record. Returns how many items there are then. */
  add(write: Write): number;
}

/** The items of the store, one transaction at a time. DynamoDB's and the in-memory one agree. */
export interface ItemStore {
  /** How many items one transaction reads or writes at most. All are small: bytes never count. */
  readonly maxItems: number;
  /** Counts as the store does, which packs records together. */
  countItems(): ItemCounter;
  /**
   * Reads strongly consistently, in the order asked, each record at its own moment: a transaction
   * under way may show in one and not yet in another. Throws STORE_UNAVAILABLE.
   */
  read(refs: readonly Ref[]): Promise<readonly Loaded[]>;
  /**
   * Reads up to `maxItems` records at one moment; nothing while a transaction that writes one of
   * them is under way. Of entries, only those with which an item begins. Throws STORE_UNAVAILABLE.
   */
  readAtomically(refs: readonly Ref[]): Promise<readonly Loaded[] | undefined>;
  /** Reads the members of a group strongly consistently. Throws STORE_UNAVAILABLE. */
  groupMembers(query: MembersQuery): Promise<Members>;
  /** All or nothing. A second commit of the same writes under the same token does nothing. */
  commit(writes: readonly Write[], token: string): Promise<CommitResult>;
}

/** The name of a record among all records. */
export const nameOf = (ref: Ref): string => `${ref.kind}#${ref.id}`;

/** Each record once. */
export const distinct = <K extends Kind>(refs: readonly Ref<K>[]): Ref<K>[] => [
  ...new Map(refs.map((ref) => [nameOf(ref), ref])).values(),
];
