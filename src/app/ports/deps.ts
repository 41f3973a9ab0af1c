import type { VerificationReport } from "../../contract.ts";
import type { Account } from "../../domain/account.ts";
import type { EntryType, EventKey, LedgerEntry } from "../../domain/ledger.ts";
import type { Instant, Month } from "../../domain/month.ts";
import type {
  Inbox,
  MemberRange,
  Members,
  ReadGroup,
  UnreadGroup,
} from "../../domain/notification.ts";
import type { Program } from "../../domain/program.ts";
import type { Reaction, Target, TargetName } from "../../domain/reaction.ts";
import type { NumberRange } from "../../domain/rebuild.ts";
import type { Reservation } from "../../domain/reservation.ts";

/** The records of the store, by kind. A kind is one sort of item with one sort of key. */
export interface Records {
  program: Program;
  account: Account;
  entry: LedgerEntry;
  event: EventKey;
  reservation: Reservation;
  target: Target;
  reaction: Reaction;
  inbox: Inbox;
  unreadGroup: UnreadGroup;
  readGroup: ReadGroup;
  testClock: TestTime;
}

/** Where the test clock stands; it does not run. */
export interface TestTime {
  readonly time: Instant;
}

export type Kind = keyof Records;

/** Names one record: its kind and the parts of its key, joined by `#`, which no part contains. */
export interface Ref<K extends Kind = Kind> {
  readonly kind: K;
  readonly id: string;
}

const ref = <K extends Kind>(kind: K, ...parts: readonly (string | number)[]): Ref<K> => ({
  kind,
  id: parts.join("#"),
});

export const programRef = (programId: string): Ref<"program"> => ref("program", programId);
export const accountRef = (programId: string, userId: string): Ref<"account"> =>
  ref("account", programId, userId);
export const entryRef = (programId: string, userId: string, number: number): Ref<"entry"> =>
  ref("entry", programId, userId, number);
export const eventRef = (programId: string, userId: string, event: string): Ref<"event"> =>
  ref("event", programId, userId, event);
export const reservationRef = (programId: string, id: string): Ref<"reservation"> =>
  ref("reservation", programId, id);
export const targetRef = ({ type, id }: TargetName): Ref<"target"> => ref("target", type, id);
export const reactionRef = (
  { type, id }: TargetName,
  kind: string,
  userId: string,
): Ref<"reaction"> => ref("reaction", type, id, kind, userId);
export const inboxRef = (ownerId: string): Ref<"inbox"> => ref("inbox", ownerId);
export const unreadGroupRef = (
  ownerId: string,
  { type, id }: TargetName,
  kind: string,
): Ref<"unreadGroup"> => ref("unreadGroup", ownerId, kind, type, id);
export const readGroupRef = (ownerId: string, group: UnreadGroup): Ref<"readGroup"> =>
  ref("readGroup", ownerId, group.version, group.kind, group.target.type, group.target.id);
export const testClockRef: Ref<"testClock"> = ref("testClock");

/** The time a decision is made at. */
export interface Now {
  /** The points calendar: months, expiry, ledger times. The test clock moves it. */
  readonly calendar: Instant;
  /** Real time, which Temporal's timers follow: when reservations are due. */
  readonly wall: Instant;
}

/** Tells the time. Throws CLOCK_OFF when this machine's clock cannot be trusted. */
export interface Clock {
  now(): Promise<Now>;
}

/** All items that one batch of calls touches, as the calls ahead have left them. */
export interface Transaction {
  get<K extends Kind>(ref: Ref<K>): Records[K] | undefined;
  /** The version of the record, counting what has been put; 0 when it is not there. */
  recordVersion(ref: Ref): number;
  /** Of a record named in `reads` or `absent`; any other must not be there yet. */
  put<K extends Kind>(ref: Ref<K>, value: Records[K]): void;
  /** Of a record named in `reads` or `absent`. One that is not there stays so. */
  delete(ref: Ref): void;
  /**
   * The notified reactions of a group, as they stand before this batch: a call that asks is decided
   * ahead of all that write. What it sees is only good together with the owner's inbox, which every
   * change of a reaction writes: look at that, too.
   */
  groupMembers(query: MembersQuery): Members;
}

/** A range of the notified reactions of one kind to a target. */
export interface MembersQuery extends MemberRange {
  readonly target: TargetName;
  readonly kind: string;
}

/**
 * One change: what it needs to see, and a pure decision over it. Whatever a call that writes has
 * looked at is a condition of its transaction, written or not.
 */
export interface TransactionRequest<R> {
  /** Calls with the same key are decided one after another and may share a transaction. */
  readonly key: Ref;
  /** Read before deciding, unless this process has just committed them. */
  readonly readSet: readonly Ref[];
  /** Taken as absent without a read; a failed condition or a refusal finds out. */
  readonly expectAbsent: readonly Ref[];
  /** May run several times. Throws `DomainError` to refuse; what it has put is then forgotten. */
  decide(tx: Transaction, now: Now): R;
  /** When the caller stops waiting, in `performance.now()` milliseconds. */
  readonly deadline: number | undefined;
}

/**
 * The commit engine: decides calls over what the store holds and commits what they put, each record
 * under the condition that it is still as it was loaded.
 *
 * Throws what `decide` throws, CONTENDED when others kept winning for five seconds, DEADLINE when
 * the caller's own deadline passed first, STORE_UNAVAILABLE when the store gave no answer.
 */
export interface Engine {
  transact<R>(call: TransactionRequest<R>): Promise<R>;
}

/** A page of a list and where the next one starts; no cursor after the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
}

/** Where a page starts and how long it is at most. */
export interface PageRequest {
  readonly size: number;
  readonly cursor: string | undefined;
}

/** A range of instants: `start` belongs to it, `end` does not. */
export interface Window {
  readonly start: Instant | undefined;
  readonly end: Instant | undefined;
}

/** Which entries of a ledger, and in which order. Numbers are inclusive. */
export interface LedgerQuery {
  readonly from: number;
  readonly to: number;
  readonly newestFirst: boolean;
  /** Empty: all. */
  readonly types: readonly EntryType[];
}

/** Names an account. */
export interface AccountName {
  readonly programId: string;
  readonly userId: string;
}

/** Reads outside the engine. Everything is strongly consistent but what is said not to be. */
export interface Reader {
  get<K extends Kind>(ref: Ref<K>): Promise<{ value: Records[K]; version: number } | undefined>;
  programs(page: PageRequest): Promise<Page<Program>>;
  entries(name: AccountName, query: LedgerQuery, page: PageRequest): Promise<Page<LedgerEntry>>;
  /**
   * Every entry of a ledger in the order in which it is stored, a second one of a number included.
   * `size` counts items: each is read once, with all entries that are packed into it.
   */
  storedEntries(name: AccountName, page: PageRequest): Promise<Page<LedgerEntry>>;
  /**
   * The copies that event keys keep of an account's entries with these numbers, `segment` of
   * `segments` disjoint parts. Reads the whole table. Pages may be empty. Lags behind by moments.
   */
  entryCopies(
    name: AccountName,
    numbers: NumberRange,
    segment: number,
    segments: number,
    page: PageRequest,
  ): Promise<Page<LedgerEntry>>;
  /** Accounts whose oldest month may be `month` or before. Lags behind by moments. */
  dueAccounts(
    programId: string,
    shard: number,
    month: Month,
    page: PageRequest,
  ): Promise<Page<AccountName>>;
  /** All accounts of a program, `segment` of `segments` disjoint parts. Pages may be empty. */
  accounts(
    programId: string,
    segment: number,
    segments: number,
    page: PageRequest,
  ): Promise<Page<AccountName>>;
  /** By execute time. Lags behind by moments. */
  reservationsOfUser(
    name: AccountName,
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** By execute time, merged from all shards. Lags behind by moments. */
  reservationsInState(
    programId: string,
    state: Reservation["state"],
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** What there is of these records, in the order asked. */
  many<K extends Kind>(refs: readonly Ref<K>[]): Promise<(Records[K] | undefined)[]>;
  /** The reactions of one kind to a target, newest first. */
  reactions(query: ReactionsQuery, page: PageRequest): Promise<Page<Reaction>>;
  /** A person's own, newest first. Lags behind by moments. */
  reactionsOfUser(userId: string, page: PageRequest): Promise<Page<Reaction>>;
  /** Unread groups, by their latest number. */
  unreadGroups(
    ownerId: string,
    newestFirst: boolean,
    page: PageRequest,
  ): Promise<Page<UnreadGroup>>;
  /** Read groups that have not expired `now`, by their latest number, newest first. */
  readGroups(ownerId: string, now: Instant, page: PageRequest): Promise<Page<ReadGroup>>;
  /** Inboxes by owner, those that are there. Lags behind by moments. */
  inboxes(ownerIds: readonly string[]): Promise<ReadonlyMap<string, Inbox>>;
}

/** Which reactions to list: all of them, or those notified at numbers in a range, both included. */
export interface ReactionsQuery {
  readonly target: TargetName;
  readonly kind: string;
  readonly notified?: { readonly from: number; readonly to: number };
}

/** Removes, a page at a time and past the engine, what a deleted target has left behind. */
export interface Purger {
  /** Removes up to 1,000 reactions of one kind. Tells whether there may be more. */
  reactions(target: TargetName, kind: string): Promise<boolean>;
  /** Removes read groups of the target. Where to go on, until there is no more. */
  history(
    ownerId: string,
    target: TargetName,
    cursor: string | undefined,
  ): Promise<string | undefined>;
}

/** Who owns which target; it never changes. Throws TARGET_NOT_FOUND. */
export interface TargetOwners {
  of(target: TargetName): Promise<string>;
}

/** What a watcher of an unread count is sent. */
export type UnreadCountEvent =
  | { readonly inbox: Inbox }
  /** The last one of a stream that is to be opened again. */
  | { readonly end: "TIME_LIMIT" | "DRAINING" };

/** Streams of unread counts. */
export interface UnreadCountStreams {
  /** Tells what a commit of this process has left of an inbox. */
  publish(ownerId: string, inbox: Inbox): void;
  /**
   * The count at once, then every newer one, until `signal`, the limit of a stream, or the end of
   * this process. Throws TOO_MANY_STREAMS.
   */
  watch(ownerId: string, signal: AbortSignal): AsyncIterable<UnreadCountEvent>;
  /** Ends every stream, and those to come at once. */
  close(): void;
}

export { shardCount } from "../../contract.ts";

/** The programs as this server knows them. Throws PROGRAM_NOT_FOUND and PROGRAM_STALE. */
export interface Programs {
  get(id: string): Promise<Program>;
}

/** Starts and wakes workflows. Throws WORKFLOWS_UNAVAILABLE when Temporal gives no answer. */
export interface Workflows {
  /** Starts the reservation's workflow; one that runs already stays. `zone` is for its summary. */
  startReservation(row: Reservation, timeZone: string): Promise<void>;
  /** Makes the reservation's workflow look at its row again; starts it when `start` is set. */
  signalRefresh(row: Reservation, start: boolean, timeZone: string): Promise<void>;
  /** Makes the monthly schedule of a program unless it is there. */
  ensureMonthEnd(program: Program): Promise<void>;
  /** Starts the verification of a program, or joins the one that runs. */
  startVerification(programId: string): Promise<void>;
  /** The latest verification of a program, if there was any. */
  verification(programId: string): Promise<Verification | undefined>;
  /** Starts the removal of what a deleted target has left, or joins the one that runs. */
  startPurge(target: TargetName, ownerId: string): Promise<void>;
}

/** Everything that the use cases stand on. */
export interface Deps {
  readonly engine: Engine;
  readonly reader: Reader;
  readonly clock: Clock;
  readonly programs: Programs;
  readonly workflows: Workflows;
  readonly owners: TargetOwners;
  readonly purger: Purger;
  readonly unreadCounts: UnreadCountStreams;
  /** How long a read notification is kept, in ms. */
  readonly historyMs: number;
  /** Takes work that the answer does not wait for. It may run several times. */
  readonly background: (work: () => Promise<void>) => void;
}

/** How far the verification of a program has come, and what it found. */
export interface Verification extends VerificationReport {
  readonly workflowId: string;
  readonly startTime: Instant;
  readonly state: "RUNNING" | "DONE" | "FAILED";
}
