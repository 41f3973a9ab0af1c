/** Tests the limits that the contract gives to methods, and that servers hold to them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { limitsOf } from "../../../src/platform/edge/method-limits.ts";
import { services } from "../../support/fixtures/descriptors.ts";
import { refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

test("what takes or stores a sheet, or waits, has limits of its own, all else the defaults", () => {
  const methods = services.flatMap((service) => service.methods);
  const limits = methods.map((method) => {
    const { timeMs, bodyBytes, bodyTimeMs } = limitsOf(method);
    return [method.name, timeMs, bodyBytes, bodyTimeMs] as const;
  });
  expect(limits.filter(([, ms, bytes]) => ms !== 10_000 || bytes !== 64 * 2 ** 10)).toEqual([
    ["UploadBulkGrant", 900_000, 128 * 2 ** 10, 30_000],
    ["SubmitBulkGrant", 600_000, (4_096 + 64) * 2 ** 10, 30_000],
    ["CheckSheet", 600_000, (2_048 + 64) * 2 ** 10, 30_000],
    ["ReverseBulkGrant", 600_000, 64 * 2 ** 10, 10_000],
    ["ReadEvents", 40_000, 64 * 2 ** 10, 10_000],
  ]);
});

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

test("a message above the limit of its method is refused", async () => {
  const csv = Buffer.from(`user_id,points\n${"u,1\n".repeat(20_000)}`);
  const content = { case: "csv", value: csv } as const;
  const { check } = await server.bulkGrants.checkSheet({ bulkGrantId: "b", content });
  expect(check?.rowCount).toBe(20_000);
  const call = server.bulkGrants.cancelBulkGrant({ bulkGrantId: "x".repeat(70_000) });
  expect(await refusalOf(call)).toMatchObject({
    code: "InvalidArgument",
    reason: "REQUEST_TOO_LARGE",
    metadata: { limit: "65536" },
    retries: false,
  });
});
