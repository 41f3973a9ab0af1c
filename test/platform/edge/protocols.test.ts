/** Tests the same calls over Connect and gRPC-Web, and requests by hand over HTTP/1.1. */
import { isFieldSet } from "@bufbuild/protobuf";
import { MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { services } from "../../support/fixtures/descriptors.ts";
import { refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

describe.each(services)("$typeName", ({ methods }) => {
  test.each(methods)("$name says whether it is idempotent", ({ proto }) => {
    const { options } = proto;
    const { idempotencyLevel } = MethodOptionsSchema.field;
    expect(options !== undefined && isFieldSet(options, idempotencyLevel)).toBe(true);
  });
});

const named: Interceptor = (next) => (req) => {
  req.header.set("meguri-caller", "web");
  return next(req);
};

type Options = { baseUrl: string; httpVersion: "1.1" | "2"; interceptors: Interceptor[] };

const transports = {
  "Connect, JSON": (options) => createConnectTransport({ ...options, useBinaryFormat: false }),
  "Connect, binary": (options) => createConnectTransport({ ...options, useBinaryFormat: true }),
  "Connect, GET": (options) => createConnectTransport({ ...options, useHttpGet: true }),
  "gRPC-Web": (options) => createGrpcWebTransport(options),
} satisfies Record<string, (options: Options) => Transport>;

describe.each(["1.1", "2"] as const)("HTTP/%s", (httpVersion) => {
  test.each(Object.entries(transports))("%s", async (protocol, connect) => {
    const port = httpVersion === "2" ? server.port : server.http1Port;
    const options: Options = {
      baseUrl: `http://127.0.0.1:${port}`,
      httpVersion,
      interceptors: [named],
    };
    const points = createClient(PointsService, connect(options));
    const userId = `${protocol.replace(/\W/g, "-")}-${httpVersion}`;
    const granted = await points.grantPoints({ userId, eventId: "e", points: 10n });
    expect([granted.availablePoints, granted.entry?.caller?.service]).toEqual([10n, "web"]);
    expect((await points.getBalance({ userId })).balance?.availablePoints).toBe(10n);
    const refused = points.usePoints({ userId, eventId: "u", points: 11n });
    expect(await refusalOf(refused)).toMatchObject({
      code: "FailedPrecondition",
      reason: "INSUFFICIENT_POINTS",
      metadata: { available_points: "10" },
    });
    const invalid = points.usePoints({ userId, eventId: "u", points: -1n });
    expect((await refusalOf(invalid)).fields).toEqual(["points"]);
  });
});

/** A plain HTTP/1.1 request, as curl would send it. */
async function post(body: string, headers: Record<string, string> = {}, method = "GetBalance") {
  const url = `http://127.0.0.1:${server.http1Port}/${PointsService.typeName}/${method}`;
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "meguri-caller": "curl", ...headers },
  });
  const text = await response.text();
  return { status: response.status, text, json: text === "" ? {} : JSON.parse(text) };
}

describe("a request by hand", () => {
  test("is answered", async () => {
    const { status, json } = await post('{"userId":"nobody"}');
    expect(status).toBe(200);
    expect(json.balance.totals).toEqual({});
  });

  test.each([
    ["a number too large for int64", '{"userId":"u","points":"9223372036854775808"}'],
    ["a fraction", '{"userId":"u","points":1.5}'],
    ["too many digits of a second", '{"userId":"u","startTime":"2026-01-01T00:00:00.1234567890Z"}'],
    ["a year that no timestamp has", '{"userId":"u","startTime":"10000-01-01T00:00:00Z"}'],
  ])("of %s is an invalid argument", async (_, body) => {
    const method = body.includes("startTime") ? "ListLedgerEntries" : "GrantPoints";
    const { status, json } = await post(body, {}, method);
    expect([status, json.code]).toEqual([400, "invalid_argument"]);
  });

  test("of an unknown content type is not supported", async () => {
    expect((await post("<x/>", { "content-type": "text/xml" })).status).toBe(415);
  });

  test("for an unknown method or service", async () => {
    expect((await post("{}", {}, "Nothing")).status).toBe(404);
    // The test clock is off, so its service is not served at all.
    await expect(server.clock.getTime({})).rejects.toThrow("unimplemented");
  });
});

describe("with a store that is slow or away", () => {
  test("the deadline of the caller is kept; errors have no details of the store", async () => {
    const proxy = await startDynamoProxy({ upstream: server.config.dynamoEndpoint ?? "" });
    const slow = await startServer({ testClock: false, dynamoEndpoint: proxy.endpoint });
    try {
      await slow.points.getBalance({ userId: "u" });
      // The store answers long after the test, so it is the deadline that ends the call. Its reason
      // is the store, and is known before the deadline.
      proxy.faults({ delay: 1, delayMs: [600_000, 600_000] });
      const url = `http://127.0.0.1:${slow.http1Port}/${PointsService.typeName}/GetBalance`;
      const response = await fetch(url, {
        method: "POST",
        body: '{"userId":"u"}',
        headers: {
          "content-type": "application/json",
          "meguri-caller": "curl",
          "connect-timeout-ms": "3000",
        },
      });
      expect(response.status).toBe(503);
      const error = (await response.json()) as {
        code: string;
        message: string;
        details: { debug: object }[];
      };
      expect(error.code).toBe("unavailable");
      expect(error.message).toContain("the store gave no answer");
      const info = { reason: "STORE_UNAVAILABLE", domain: "meguri" };
      expect(error.details[0]?.debug).toMatchObject(info);

      proxy.faults({});
      proxy.down(true);
      const read = slow.points.getBalance({ userId: "u" });
      const write = slow.points.grantPoints({ userId: "u", eventId: "e", points: 1n });
      for (const refusal of await Promise.all([read, write].map(refusalOf))) {
        expect(refusal).toMatchObject({
          code: "Unavailable",
          reason: "STORE_UNAVAILABLE",
          retries: true,
        });
        expect(JSON.stringify(refusal)).not.toMatch(/127\.0\.0\.1|ECONN|meguri-|socket|points-/i);
      }
    } finally {
      proxy.down(false);
      await slow.stop();
      await proxy.stop();
    }
  });

  test("with a wrong clock, calls that depend on the date are refused", async () => {
    const proxy = await startDynamoProxy({ upstream: server.config.dynamoEndpoint ?? "" });
    const off = await startServer({ testClock: false, dynamoEndpoint: proxy.endpoint });
    try {
      proxy.dateSkew(60_000);
      await off.programs.getProgram({ programId: "default" }).catch(() => undefined);
      const calls = [
        off.points.grantPoints({ userId: "u", eventId: "off", points: 1n }),
        off.points.getBalance({ userId: "u" }),
      ];
      for (const refusal of await Promise.all(calls.map(refusalOf))) {
        expect(refusal).toMatchObject({ code: "Unavailable", reason: "CLOCK_OFF", retries: true });
      }
      proxy.dateSkew(undefined);
      await off.points.getBalance({ userId: "u" }).catch(() => undefined);
      expect((await off.points.getBalance({ userId: "u" })).balance?.availablePoints).toBe(0n);
    } finally {
      await off.stop();
      await proxy.stop();
    }
  });
});
