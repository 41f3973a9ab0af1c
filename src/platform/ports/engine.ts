/** The commit engine as the use cases see it. */

import type { Milliseconds } from "../words/units.ts";
import type { CallLimits } from "./call.ts";
import type { Now } from "./clock.ts";
import type { Kind, Records, Ref } from "./records.ts";

/** A call that has not been committed or refused after this long is rejected. */
export const patienceMs: Milliseconds = 5_000;

/** A request to the store ends after this long. */
export const requestMs: Milliseconds = 3_000;

/** A decision is written within this time or never: it is sent until the patience is over. */
export const lateWriteMs: Milliseconds = patienceMs + requestMs;

/**
 * A committed transaction is applied in the whole store within this time. Until then, reads that
 * are no transaction may see some of its records as they were before.
 */
export const appliedMs: Milliseconds = 1_000;

/**
 * The records of a batch while it is decided, with the writes of the calls decided before. A
 * decision may ask for any record and any lookup: one that is not known yet ends the decision, is
 * read, and the decision runs again.
 */
export interface Transaction {
  /** The record; undefined when it does not exist. */
  get<K extends Kind>(ref: Ref<K>): Records[K] | undefined;
  /** The records in this order. Those that are not known yet are read in one request. */
  getAll<K extends Kind>(refs: readonly Ref<K>[]): readonly (Records[K] | undefined)[];
  /** The version of the record, with the writes of this batch; 0 when it does not exist. */
  recordVersion(ref: Ref): number;
  /**
   * Puts a record that the request has named or the decision has read; any other record must not
   * exist yet. A new record gets the version `firstVersion`; without it 1, or that of an earlier
   * call of the batch which has put it. If records of this name may have been deleted, it needs a
   * version that none had.
   */
  put<K extends Kind>(ref: Ref<K>, value: Records[K], firstVersion?: number): void;
  /**
   * Deletes a record that the request has named or the decision has read. Does nothing when it does
   * not exist.
   */
  delete(ref: Ref): void;
  /** The result of a lookup. */
  lookup<T>(lookup: Lookup<T>): T;
}

/**
 * A read of data that no single record has, such as a count of many records. With lookups a feature
 * gives the engine a way to read data that only this feature knows.
 */
export interface Lookup<T> {
  /** The results of lookups of one name may replace each other, as long as they hold. */
  readonly name: string;
  /**
   * The record that the lookup is about. It is read as stored, so a call with a lookup is decided
   * before the calls that change this record.
   */
  readonly source: Ref;
  /** Whether a result holds that was read for an earlier lookup of this name. */
  holds(result: T): boolean;
  /**
   * Reads the result. Undefined when it shows that a transaction is being applied, so that it has
   * to be read again. Throws THROTTLED and STORE_UNAVAILABLE.
   */
  read(): Promise<Reading<T> | undefined>;
}

/** The result of a lookup, with the records that it depends on. */
export interface Reading<T> {
  readonly result: T;
  /** The engine uses the result only if these records still have these values at one moment. */
  readonly unchanged: readonly { readonly ref: Ref; readonly value: unknown }[];
}

/**
 * One change: the records that it needs, and a pure decision over them. Every record that the
 * decision of a writing call has read becomes a condition of its transaction. With
 * `call.validateOnly` nothing that the decision puts is written, and its answer is proven as that
 * of a refusal.
 */
export interface TransactionRequest<R> {
  /** Calls with the same key are decided one after another and may share a transaction. */
  readonly key: Ref;
  /**
   * Read before the decision, unless this process has just committed them. Further records
   * that the decision gets cost it another read.
   */
  readonly readSet: readonly Ref[];
  /** Taken as absent without a read; a failed condition or the read validation corrects it. */
  readonly expectAbsent: readonly Ref[];
  /**
   * May run several times, and is pure: it catches nothing that `tx` throws. Throws `DomainError`
   * to refuse, which discards what it has put.
   */
  decide(tx: Transaction, now: Now): R;
  /** When the caller stops waiting. Undefined for work that nobody waits for. */
  readonly call: CallLimits | undefined;
  /**
   * For work on many records: ends as THROTTLED after 150 ms, not with the patience of five
   * seconds, when the store throttles the records, because the next ones may be free.
   */
  readonly failsSoon?: boolean;
}

/**
 * The commit engine: decides calls over the records of the store and commits their writes, each
 * under the condition that the record still has the version that was read (optimistic concurrency
 * control).
 *
 * Throws what `decide` throws, CONTENDED when other processes changed the records for five seconds,
 * DEADLINE when the caller's own deadline passed first, THROTTLED when the store throttled the
 * records all the time, STORE_UNAVAILABLE when it did not answer. An error that concerns one call
 * never fails the calls that share a transaction with it.
 */
export interface Engine {
  transact<R>(request: TransactionRequest<R>): Promise<R>;
}

/**
 * Reads the read sets of requests that follow within a second, in one request to the store, so that
 * each needs no read of its own. Does nothing when the store does not answer.
 */
export type ReadAhead = (
  requests: readonly Pick<TransactionRequest<unknown>, "key" | "readSet">[],
) => Promise<void>;
