/** Tests that the largest result of a job fits into one item. */
import { expect, test } from "vitest";
import { itemSize } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import { maxReports } from "../../../src/platform/words/quantities.ts";
import { jobRef } from "../../../src/points/ports/records.ts";
import { verification } from "../../../src/points/use-cases/jobs/verification.ts";
import { toItem } from "../../../src/store/codecs.ts";
import { jobOf } from "../../support/fixtures/jobs.ts";

/** What DynamoDB allows. */
const maxItemBytes = 400 * 1_024;

test("a verification in which 100 accounts differ and 100 fail", () => {
  const userId = "u".repeat(128);
  const actual = String(Number.MIN_SAFE_INTEGER);
  const difference = { field: "entries[999999999999].available_points", expected: actual, actual };
  const differences = Array.from({ length: 20 }, () => difference);
  const many = Number.MAX_SAFE_INTEGER;
  const sum = {
    ...{ accounts: many, entries: many, wrong: many, repaired: many, failed: many },
    reports: Array.from({ length: maxReports }, () => ({ userId, differences, unreported: many })),
    failures: Array.from({ length: maxReports }, () => ({ userId, reason: "STORE_UNAVAILABLE" })),
  };
  const job = jobOf(verification, "p".repeat(32), { repair: true });
  const done = { ...job, result: { endTime: Date.UTC(2099, 0, 1), sum } };
  const size = itemSize(toItem(jobRef(job), done, 1));
  expect(size).toBeGreaterThan(200_000);
  expect(size).toBeLessThan(maxItemBytes);
});
