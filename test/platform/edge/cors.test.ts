/** Tests that pages of the listed origins may call, and no others. */
import { once } from "node:events";
import { request } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

const allowed = "https://app.example";
const path = "/meguri.points.v1.PointsService/GetBalance";
const preflight = {
  "access-control-request-method": "POST",
  "access-control-request-headers": "authorization,content-type,meguri-caller,x-grpc-web",
};

let server: MemoryServer;
let session: ClientHttp2Session;

beforeAll(async () => {
  server = await startMemoryServer({ MEGURI_CORS_ORIGINS: `${allowed},http://localhost:3000` });
  session = connect(`http://127.0.0.1:${server.port}`);
});

afterAll(async () => {
  session.destroy();
  await server.stop();
});

type Headers = Readonly<Record<string, unknown>>;
type Send = (method: string, headers: Record<string, string>, body?: string) => Promise<Headers>;

/** Sends a request to the HTTP/2 port, and returns the headers of the answer. */
const overHttp2: Send = async (method, headers, body) => {
  const stream = session.request({ ...headers, ":method": method, ":path": path });
  stream.end(body);
  const [answer] = await once(stream, "response");
  stream.close();
  return answer;
};

/** Sends a request to the HTTP/1.1 port, and returns the headers of the answer. */
const overHttp1: Send = async (method, headers, body) => {
  const sent = request({ host: "127.0.0.1", port: server.http1Port, method, path, headers });
  sent.end(body);
  const [answer] = await once(sent, "response");
  answer.resume();
  return { ...answer.headers, ":status": answer.statusCode };
};

const corsHeaders = (headers: Headers): string[] =>
  Object.keys(headers).filter((name) => name.startsWith("access-control-"));

describe.each([
  ["HTTP/2", overHttp2],
  ["HTTP/1.1", overHttp1],
])("over %s", (_, send) => {
  test("a preflight of a listed origin is answered with what the protocols need", async () => {
    const answer = await send("OPTIONS", { origin: allowed, ...preflight });
    expect(answer).toMatchObject({
      ":status": 204,
      "access-control-allow-origin": allowed,
      "access-control-allow-methods": "POST,GET",
    });
    const headers = String(answer["access-control-allow-headers"]).toLowerCase().split(",");
    expect(headers).toEqual(
      expect.arrayContaining([
        "authorization",
        "connect-protocol-version",
        "content-type",
        "grpc-timeout",
        "meguri-caller",
        "meguri-key",
        "x-grpc-web",
      ]),
    );
  });

  test("a call of a listed origin shows its answer and the headers with the status", async () => {
    const headers = { origin: allowed, "content-type": "application/json", "meguri-caller": "web" };
    const answer = await send("POST", headers, '{"userId":"aoi"}');
    expect(answer).toMatchObject({ ":status": 200, "access-control-allow-origin": allowed });
    const exposed = String(answer["access-control-expose-headers"]).toLowerCase();
    expect(exposed).toContain("grpc-status");
    expect(answer.vary).toBe("Origin");
  });

  test.each(["https://evil.example", "null", `${allowed}.evil.example`, "http://localhost"])(
    "neither a preflight nor a call of %s gets headers of CORS",
    async (origin) => {
      const first = await send("OPTIONS", { origin, ...preflight });
      expect(corsHeaders(first)).toEqual([]);
      expect(first[":status"]).toBeGreaterThanOrEqual(400);
      const headers = { origin, "content-type": "application/json", "meguri-caller": "web" };
      expect(corsHeaders(await send("POST", headers, '{"userId":"aoi"}'))).toEqual([]);
    },
  );
});

test("gRPC-Web works with an origin, refusals included", async () => {
  const transport = createGrpcWebTransport({
    baseUrl: `http://127.0.0.1:${server.http1Port}`,
    httpVersion: "1.1",
  });
  const points = createClient(PointsService, transport);
  const headers = { origin: allowed, "meguri-caller": "web" };
  await expect(points.getBalance({ userId: "aoi" }, { headers })).resolves.toBeDefined();
  await expect(points.getBalance({ userId: "" }, { headers })).rejects.toThrow("user_id");
});

test("without a list, no origin gets headers of CORS", async () => {
  const other = await startMemoryServer();
  const headers = { origin: allowed, ...preflight };
  const sent = request({
    host: "127.0.0.1",
    port: other.http1Port,
    method: "OPTIONS",
    path,
    headers,
  });
  sent.end();
  const [answer] = await once(sent, "response");
  answer.resume();
  await other.stop();
  expect(corsHeaders(answer.headers)).toEqual([]);
});
