/** Tests that stored hashes of requests stay valid, and which requests are the same. */
import { expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { requestHash } from "../../../src/platform/work/idempotency.ts";

const parameters = { points: 10, reason: "thanks", allowPartial: false };

test("a hash equals that of versions without subjects, which is stored", () => {
  expect(requestHash("grant", asService("shop"), parameters)).toBe(
    "1:zLoMHXg1NFJY0KDFVIbuRVXzv4Ml5gsBkh6bH0zuXBA",
  );
});

test("a cause is in the hash only if there is one", () => {
  const hashOf = (cause: string | undefined) =>
    requestHash("grant", asService("shop"), { ...parameters, cause });
  expect(new Set([hashOf(undefined), hashOf(""), hashOf("order-1"), hashOf("order-2")]).size).toBe(
    3,
  );
  expect(hashOf(undefined)).toBe("1:zLoMHXg1NFJY0KDFVIbuRVXzv4Ml5gsBkh6bH0zuXBA");
});

test("the hash covers the service and not the subject", () => {
  const hashOf = (service: string, subject: string) =>
    requestHash("grant", { service, subject }, parameters);
  expect(hashOf("shop", "alice")).toBe(hashOf("shop", "shop"));
  expect(hashOf("cafe", "alice")).not.toBe(hashOf("shop", "alice"));
});
