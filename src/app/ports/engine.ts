/** The commit engine as the use cases see it. */
import type { MemberRange, Members } from "../../domain/notification.ts";
import type { TargetName } from "../../domain/target.ts";
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
   * The notified reactions of a group before this batch: a call that queries is decided before all
   * calls that write. Every change of a reaction writes the owner's inbox, and the result is valid
   * only for one version of it, so the decision has to get the inbox, too.
   */
  groupMembers(query: MembersQuery): Members;
}

/** A range of the notified reactions of one kind to a target. */
export interface MembersQuery extends MemberRange {
  readonly target: TargetName;
  readonly kind: string;
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
