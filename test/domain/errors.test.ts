/** The table of reasons, once more by hand: clients and Temporal histories depend on every row. */
import { expect, test } from "vitest";
import { DomainError, type Reason, reasons, reasonTable } from "../../src/domain/errors.ts";

/** Code, whether the same call may succeed later, and the delay that RetryInfo has. */
const expected: Record<Reason, readonly [string, boolean, number?]> = {
  INVALID_REQUEST: ["INVALID_ARGUMENT", false],
  ID_REUSED: ["FAILED_PRECONDITION", false],
  INSUFFICIENT_POINTS: ["FAILED_PRECONDITION", false],
  ACCOUNT_FROZEN: ["FAILED_PRECONDITION", false],
  WRONG_STATE: ["FAILED_PRECONDITION", false],
  LIMIT_EXCEEDED: ["FAILED_PRECONDITION", false],
  PROGRAM_NOT_FOUND: ["NOT_FOUND", false],
  ACCOUNT_NOT_FOUND: ["NOT_FOUND", false],
  LEDGER_ENTRY_NOT_FOUND: ["NOT_FOUND", false],
  RESERVATION_NOT_FOUND: ["NOT_FOUND", false],
  VERIFICATION_NOT_FOUND: ["NOT_FOUND", false],
  TARGET_NOT_FOUND: ["NOT_FOUND", false],
  TARGET_DELETED: ["NOT_FOUND", false],
  UNAUTHENTICATED: ["UNAUTHENTICATED", false],
  LEDGER_DAMAGED: ["DATA_LOSS", false],
  TOO_MANY_STREAMS: ["RESOURCE_EXHAUSTED", true, 5_000],
  CONTENDED: ["ABORTED", true, 100],
  DEADLINE: ["DEADLINE_EXCEEDED", true],
  STORE_UNAVAILABLE: ["UNAVAILABLE", true, 1_000],
  WORKFLOWS_UNAVAILABLE: ["UNAVAILABLE", true, 1_000],
  CLOCK_OFF: ["UNAVAILABLE", true, 1_000],
  PROGRAM_STALE: ["UNAVAILABLE", true, 1_000],
};

test.each(reasons)("%s has its code, retryability and retry delay", (reason) => {
  const { code, retryable, retryDelayMs } = reasonTable[reason];
  const row = retryDelayMs === undefined ? [code, retryable] : [code, retryable, retryDelayMs];
  expect(row).toEqual(expected[reason]);
  expect(new DomainError(reason, "why").retryable).toBe(retryable);
});

test("the table has every reason", () => {
  expect(reasons).toEqual(Object.keys(expected));
});
