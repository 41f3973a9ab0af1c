/** Why a call was refused or not served. The two maps to wires are exhaustive over these. */
export const reasons = [
  "INVALID_REQUEST",
  "ID_REUSED",
  "INSUFFICIENT_POINTS",
  "ACCOUNT_FROZEN",
  "WRONG_STATE",
  "LIMIT_EXCEEDED",
  "PROGRAM_NOT_FOUND",
  "ACCOUNT_NOT_FOUND",
  "LEDGER_ENTRY_NOT_FOUND",
  "RESERVATION_NOT_FOUND",
  "VERIFICATION_NOT_FOUND",
  "TARGET_NOT_FOUND",
  "TARGET_DELETED",
  "UNAUTHENTICATED",
  "LEDGER_DAMAGED",
  "TOO_MANY_STREAMS",
  "CONTENDED",
  "DEADLINE",
  "STORE_UNAVAILABLE",
  "WORKFLOWS_UNAVAILABLE",
  "CLOCK_OFF",
  "PROGRAM_STALE",
] as const;

export type Reason = (typeof reasons)[number];

/** Conditions that pass by themselves: the same call may succeed later. All others are refusals. */
const passing: ReadonlySet<Reason> = new Set<Reason>([
  "TOO_MANY_STREAMS",
  "CONTENDED",
  "DEADLINE",
  "STORE_UNAVAILABLE",
  "WORKFLOWS_UNAVAILABLE",
  "CLOCK_OFF",
  "PROGRAM_STALE",
]);

/** The one error that rules and use cases throw. Its message and metadata may cross the wire. */
export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly reason: Reason;
  readonly metadata: Readonly<Record<string, string>>;

  constructor(reason: Reason, message: string, metadata: Readonly<Record<string, string>> = {}) {
    super(message);
    this.reason = reason;
    this.metadata = metadata;
  }

  /** True when the same call may succeed later without anything else being changed. */
  get retryable(): boolean {
    return passing.has(this.reason);
  }
}
