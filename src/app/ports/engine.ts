/** The commit engine as the use cases see it. */
import type { TargetName } from "../../domain/target.ts";
import type { MemberRange, Members } from "../../domain/unread-group.ts";
import type { Now } from "./clock.ts";
import type { Kind, Records, Ref } from "./records.ts";

/** The records of a batch while it is decided, with the writes of the calls decided before. */
export interface Transaction {
  get<K extends Kind>(ref: Ref<K>): Records[K] | undefined;
  /** The version of the record, with the writes of this batch; 0 when it does not exist. */
  recordVersion(ref: Ref): number;
  /** Puts a record of `readSet` or `expectAbsent`; any other record must not exist yet. */
  put<K extends Kind>(ref: Ref<K>, value: Records[K]): void;
  /** Deletes a record of `readSet` or `expectAbsent`. Does nothing when it does not exist. */
  delete(ref: Ref): void;
  /**
   * The members of a group as its record, which the decision has to get, describes them. A call
   * with a query comes before calls that change this group.
   */
  groupMembers(query: MembersQuery): Members;
}

/** A query for the members of one group. */
export interface MembersQuery {
  readonly target: TargetName;
  readonly kind: string;
  /** The record of the group, which changes with every member. */
  readonly group: Ref<"unreadGroup">;
  readonly range: MemberRange;
}

/**
 * One change: the records that it needs, and a pure decision over them. Every record that the
 * decision of a writing call has read becomes a condition of its transaction.
 */
export interface TransactionRequest<R> {
  /** Calls with the same key are decided one after another and may share a transaction. */
  readonly key: Ref;
  /** Read before the decision, unless this process has just committed them. */
  readonly readSet: readonly Ref[];
  /** Taken as absent without a read; a failed condition or the read validation corrects it. */
  readonly expectAbsent: readonly Ref[];
  /** May run several times. Throws `DomainError` to refuse, which discards what it has put. */
  decide(tx: Transaction, now: Now): R;
  /** The instant at which the caller stops waiting, in `performance.now()` milliseconds. */
  readonly deadline: number | undefined;
}

/**
 * The commit engine: decides calls over the records of the store and commits their writes, each
 * under the condition that the record still has the version that was read (optimistic concurrency
 * control).
 *
 * Throws what `decide` throws, CONTENDED when other processes changed the records for five seconds,
 * DEADLINE when the caller's own deadline passed first, STORE_UNAVAILABLE when the store did not
 * answer.
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
