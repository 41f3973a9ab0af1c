/** Tests every row of the table of reasons. */
import { expect, test } from "vitest";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { reasons, reasonTable } from "../../../src/platform/words/reasons.ts";
import { expectedReasons } from "../../support/fixtures/expected-reasons.ts";

test.each(reasons)("%s has its code, retryability and retry delay", (reason) => {
  const { code, retryable, retryDelayMs } = reasonTable[reason];
  const row = retryDelayMs === undefined ? [code, retryable] : [code, retryable, retryDelayMs];
  expect(row).toEqual(expectedReasons[reason]);
  expect(new DomainError(reason, "why").retryable).toBe(retryable);
});

test("the table has every reason", () => {
  expect(reasons).toEqual(Object.keys(expectedReasons));
});
