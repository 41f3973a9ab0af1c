/** The reasons for which a call is refused or not served, in one table. */
import type { Milliseconds } from "./units.ts";

/** The status codes of gRPC that reasons have, by the names that gRPC's specification uses. */
export type StatusCode =
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED"
  | "PERMISSION_DENIED";

/**
 * The types of values in the metadata of a reason, which are texts on the wire: an int64 such as an
 * amount of points, a smaller integer, or a text. One that not every error has ends in "?".
 */
export type ValueType = "int64" | "integer" | "text";

/** The properties of a reason for callers, for the wire and for Temporal. */
interface ReasonEntry {
  readonly code: StatusCode;
  /**
   * True for a transient condition: the same call may succeed later without any other change.
   * False for a refusal, which Temporal does not retry.
   */
  readonly retryable: boolean;
  /** The delay in `google.rpc.RetryInfo`; without it the error carries no RetryInfo. */
  readonly retryDelayMs?: Milliseconds;
  /** The metadata of its ErrorInfo, by name. The docs and the client's types follow from it. */
  readonly metadata?: Readonly<Record<string, ValueType | `${ValueType}?`>>;
  /** The meaning as a sentence in markdown, for the docs. */
  readonly meaning: string;
  /** The caller's next step, in markdown, for the docs: it follows "yes" or "no". */
  readonly advice: string;
}

const notFound = { code: "NOT_FOUND", retryable: false } as const;
const checkIds = "check the ids";
const sameId = "send the same request with the same id";

const table = {
  INVALID_REQUEST: {
    code: "INVALID_ARGUMENT",
    retryable: false,
    // The code and the line of a sheet, and the latest time that is allowed.
    metadata: { field: "text?", code: "text?", line: "integer?", latest: "text?" },
    meaning: "A field of the request breaks a rule; `google.rpc.BadRequest` names the fields.",
    advice: "correct the fields",
  },
  REQUEST_TOO_LARGE: {
    code: "INVALID_ARGUMENT",
    retryable: false,
    metadata: { limit: "integer" },
    meaning:
      "The request has more bytes than its method takes, in all or beside one long text; " +
      "the metadata has the `limit` in bytes.",
    advice: "send less in one call",
  },
  ID_REUSED: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    metadata: { number: "integer?" },
    meaning: "The id was used before for another request, or by another calling service.",
    advice: "choose another id for another request",
  },
  INSUFFICIENT_POINTS: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    metadata: { available_points: "int64" },
    meaning:
      "The account holds fewer points than requested; the metadata has its `available_points`.",
    advice: "the same id may succeed after a grant",
  },
  ACCOUNT_FROZEN: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    meaning: "The account is frozen. It refuses grants, uses, refunds, holds and captures.",
    advice: "the same id may succeed after an unfreeze",
  },
  WRONG_STATE: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    metadata: {
      state: "text?",
      type: "text?",
      revision: "integer?",
      lifetime_months: "integer?",
      reservation_shard_count: "integer?",
    },
    meaning: "The operation does not fit the state or the type of what the request names.",
    advice: "read the current state first",
  },
  LIMIT_EXCEEDED: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    metadata: {
      limit: "int64?",
      capturable_points: "int64?",
      refundable_points: "int64?",
      earliest_expire_month: "text?",
      latest_expire_month: "text?",
    },
    meaning: "The change would exceed a limit; the metadata has the limit or what is left.",
    advice: "stay within the limit",
  },
  SELF_APPROVAL: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    meaning: "The same person has submitted the bulk grant, so it cannot approve it.",
    advice: "another person has to approve it",
  },
  DIGEST_MISMATCH: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    metadata: { revision: "integer?" },
    meaning:
      "The digest is not that of the bulk grant's current revision, or of the latest change of " +
      "the rules.",
    advice: "read it again, and check what has changed",
  },
  ETAG_MISMATCH: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    meaning:
      "The `etag` is not the present one: somebody has changed what was read before. Or it is " +
      "missing, and a change of a program's rules that waits for approvals would be replaced.",
    advice: "read it again, and send the change with the new etag",
  },
  CURSOR_EXPIRED: {
    code: "FAILED_PRECONDITION",
    retryable: false,
    metadata: { oldest_time: "text" },
    meaning: "The events behind the cursor are not kept, or it is of tables that were replaced.",
    advice: "read on with the `oldest_time` as `start_time`, and read what was missed by itself",
  },
  PROGRAM_NOT_FOUND: {
    ...notFound,
    meaning: "There is no program with this id.",
    advice: "create the program first",
  },
  ACCOUNT_NOT_FOUND: {
    ...notFound,
    meaning: "The account does not exist, because it was never granted points or frozen.",
    advice: checkIds,
  },
  LEDGER_ENTRY_NOT_FOUND: {
    ...notFound,
    meaning: "The account has no ledger entry with this number or event id.",
    advice: checkIds,
  },
  RESERVATION_NOT_FOUND: {
    ...notFound,
    meaning: "The program has no reservation with this id.",
    advice: checkIds,
  },
  HOLD_NOT_FOUND: {
    ...notFound,
    meaning: "The account has no hold with this id.",
    advice: checkIds,
  },
  BULK_GRANT_NOT_FOUND: {
    ...notFound,
    meaning: "The program has no bulk grant with this id.",
    advice: checkIds,
  },
  SUMMARY_NOT_FOUND: {
    ...notFound,
    meaning: "The revision of the bulk grant is still being validated, or it does not exist.",
    advice: "read it again when the bulk grant is no longer `VALIDATING`",
  },
  JOB_NOT_FOUND: {
    ...notFound,
    meaning: "The program has no verification, liability report or export with this id.",
    advice: checkIds,
  },
  NOTIFICATION_NOT_FOUND: {
    ...notFound,
    meaning: "There is no notification with this id: it was read, or its people have left.",
    advice: "list the notifications again",
  },
  EVENT_NOT_FOUND: {
    ...notFound,
    meaning: "The service has reported no such event, or it was too long ago.",
    advice: "check the owners or the target of the event",
  },
  TARGET_NOT_FOUND: {
    ...notFound,
    meaning: "The target is not registered, or it belongs to another owner.",
    advice: "register the target first",
  },
  TARGET_DELETED: {
    ...notFound,
    meaning: "The target was deleted. Its id cannot be registered again.",
    advice: "a deletion is final",
  },
  UNAUTHENTICATED: {
    code: "UNAUTHENTICATED",
    retryable: false,
    meaning: "The call names no caller, or its token or certificate is not valid.",
    advice: "get a new token; without tokens, set the header `meguri-caller`",
  },
  PERMISSION_DENIED: {
    code: "PERMISSION_DENIED",
    retryable: false,
    metadata: { scope: "text?", field: "text?", source: "text?", destination: "text?" },
    meaning: "The caller lacks the `scope` in the metadata, or may not use what a field names.",
    advice: "an administrator has to permit it",
  },
  RATE_LIMITED: {
    code: "RESOURCE_EXHAUSTED",
    retryable: true,
    retryDelayMs: 1_000,
    meaning:
      "The caller has sent more calls a second to this server than it may. Nothing was done.",
    advice: "send the same request later",
  },
  KEYS_UNAVAILABLE: {
    code: "UNAVAILABLE",
    retryable: true,
    retryDelayMs: 1_000,
    meaning: "The server has no keys to verify tokens by, because their issuer does not answer.",
    advice: `${sameId}; another server may accept it`,
  },
  LEDGER_DAMAGED: {
    code: "DATA_LOSS",
    retryable: false,
    metadata: { missing_entry_numbers: "text?", faults: "text?", fault_count: "integer?" },
    meaning:
      "The ledger itself has faults: the account was not repaired by it, or its past not read. " +
      "Nothing was changed.",
    advice: "an operator has to restore the ledger",
  },
  TOO_MANY_STREAMS: {
    code: "RESOURCE_EXHAUSTED",
    retryable: true,
    retryDelayMs: 5_000,
    meaning: "This server has no room for another stream, or not for one more of this service.",
    advice: "another server may accept it",
  },
  OVERLOADED: {
    code: "RESOURCE_EXHAUSTED",
    retryable: true,
    retryDelayMs: 1_000,
    meaning:
      "The server holds as many bytes of unfinished requests, or as many sheets, as it may, of " +
      "the connection, of the service or of all. Nothing was done.",
    advice: "send the same request later; another server may accept it",
  },
  DRAINING: {
    code: "UNAVAILABLE",
    retryable: true,
    retryDelayMs: 2_000,
    meaning: "This server is about to stop and opens no new streams.",
    advice: "another server may accept it",
  },
  CONTENDED: {
    code: "ABORTED",
    retryable: true,
    retryDelayMs: 100,
    meaning: "Other calls kept changing the same records, so this call did not commit in time.",
    advice: sameId,
  },
  DEADLINE: {
    code: "DEADLINE_EXCEEDED",
    retryable: true,
    meaning: "The deadline passed. The change may or may not be stored.",
    advice: sameId,
  },
  THROTTLED: {
    code: "RESOURCE_EXHAUSTED",
    retryable: true,
    retryDelayMs: 1_000,
    meaning:
      "DynamoDB throttled what this call needs, such as a busy account. " +
      "The change may or may not be stored.",
    advice: sameId,
  },
  STORE_UNAVAILABLE: {
    code: "UNAVAILABLE",
    retryable: true,
    retryDelayMs: 1_000,
    meaning: "DynamoDB gave no answer. The change may or may not be stored.",
    advice: sameId,
  },
  STORE_REFUSES: {
    code: "UNAVAILABLE",
    retryable: true,
    retryDelayMs: 5_000,
    metadata: { code: "text", operation: "text", table: "text" },
    meaning:
      "DynamoDB refuses this server's requests, such as for expired credentials or a lost right; " +
      "the metadata has its `code`. The change may or may not be stored.",
    advice: `${sameId}, but an operator has to act first`,
  },
  WORKFLOWS_UNAVAILABLE: {
    code: "UNAVAILABLE",
    retryable: true,
    retryDelayMs: 1_000,
    meaning: "Temporal gave no answer. The change may or may not be stored.",
    advice: sameId,
  },
  DESTINATION_UNAVAILABLE: {
    code: "UNAVAILABLE",
    retryable: true,
    retryDelayMs: 10_000,
    meaning: "The destination of an export failed or gave no answer; the message has its code.",
    advice: "the run of the export tries again by itself",
  },
  CLOCK_OFF: {
    code: "UNAVAILABLE",
    retryable: true,
    retryDelayMs: 1_000,
    metadata: { skew_ms: "integer" },
    meaning: "The server's clock differs by more than 5 s from DynamoDB's.",
    advice: `${sameId}; another server may accept it`,
  },
  PROGRAM_STALE: {
    code: "UNAVAILABLE",
    retryable: true,
    retryDelayMs: 1_000,
    meaning: "The server's copy of the program is too old to decide with.",
    advice: sameId,
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;

/** Why a call was refused or not served. */
export type Reason = keyof typeof table;

/**
 * Every reason. The wire error, `nonRetryable` of an activity's failure and the docs' table follow
 * from it. Clients, stored records and workflow failures have the names, so no name may change.
 */
export const reasonTable: Readonly<Record<Reason, ReasonEntry>> = table;

/** All reasons, in the order of the table. */
export const reasons = Object.keys(table) as readonly Reason[];

/** The types of the metadata of a reason, by name; those of an optional value end in "?". */
export type MetadataTypes<R extends Reason> = (typeof table)[R] extends {
  metadata: infer Types extends NonNullable<ReasonEntry["metadata"]>;
}
  ? Types
  : Record<never, never>;
