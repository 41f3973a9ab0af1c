/** Tests the names that the progress of use cases has in what crosses Temporal. */
import { expect, test } from "vitest";
import { camelCased, snakeCased } from "../../../src/platform/contract/payload-names.ts";

const progress = {
  oldestMs: 1,
  failures: [{ userId: "Ann_B", reason: "ID_REUSED" }],
  failedByCode: { ACCOUNT_FROZEN: 2 },
  cursor: null,
};

test("names are spelled in snake_case at every depth, and values and codes stay", () => {
  expect(snakeCased(progress)).toEqual({
    oldest_ms: 1,
    failures: [{ user_id: "Ann_B", reason: "ID_REUSED" }],
    failed_by_code: { ACCOUNT_FROZEN: 2 },
    cursor: null,
  });
});

test("the names back give the same", () => {
  expect(camelCased(snakeCased(progress))).toEqual(progress);
});
