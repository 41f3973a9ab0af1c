/** Tests the limit of calls a second: each service has its own, health checks have none. */
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ErrorInfoSchema, RetryInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;

beforeAll(async () => {
  server = await startMemoryServer({ MEGURI_CALLS_PER_SECOND: "2" });
});

afterAll(() => server.stop());

test("refuses what exceeds the burst of a second, and tells when to try again", async () => {
  const { points } = server.clientsOf("eager");
  const call = () => points.getBalance({ userId: "aoi" });
  const results = await Promise.allSettled(Array.from({ length: 40 }, call));
  const refusals = results.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  // The bucket fills while the calls arrive.
  expect(results.length - refusals.length).toBeGreaterThanOrEqual(2);
  expect(refusals).not.toEqual([]);
  const [error] = refusals.map((reason) => ConnectError.from(reason));
  expect(error?.code).toBe(Code.ResourceExhausted);
  expect(error?.rawMessage).toBe("eager may send 2 calls a second to this server");
  expect(error?.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "RATE_LIMITED" }]);
  expect(error?.findDetails(RetryInfoSchema)).toMatchObject([{ retryDelay: { seconds: 1n } }]);
});

test("leaves the calls of other services, and health checks, alone", async () => {
  const { points } = server.clientsOf("greedy");
  const flood = Promise.allSettled(
    Array.from({ length: 40 }, () => points.getBalance({ userId: "aoi" })),
  );
  const other = server.clientsOf("modest").points.getBalance({ userId: "aoi" });
  const checks = Array.from({ length: 20 }, () => server.health.check({}));
  await expect(other).resolves.toBeDefined();
  await expect(Promise.all(checks)).resolves.toHaveLength(20);
  const results = await flood;
  expect(results.some(({ status }) => status === "rejected")).toBe(true);
});

test("counts calls that are refused, even for a body that cannot be read", async () => {
  const call = async () => {
    const answer = await fetch(
      `http://127.0.0.1:${server.http1Port}/meguri.points.v1.PointsService/GetBalance`,
      {
        method: "POST",
        headers: { "content-type": "application/json", "meguri-caller": "noisy" },
        body: "no JSON",
      },
    );
    return (await answer.text()).match(/INVALID_REQUEST|RATE_LIMITED|$/)?.[0];
  };
  const reasons = await Promise.all(Array.from({ length: 40 }, call));
  expect(new Set(reasons)).toEqual(new Set(["INVALID_REQUEST", "RATE_LIMITED"]));
});
