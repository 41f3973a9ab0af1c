/** Tests the clients of DynamoDB: credentials, signatures and how often they send a request. */
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type Clients,
  createClients,
  usesLocalCredentials,
} from "../../../../src/platform/dynamodb/sdk/client.ts";

const region = "ap-northeast-1";

interface Request {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const TableName = "points-of-this-file";

let server: Server;
let clients: Clients;
let requests: Request[];
let status: number;

describe.each(["thin", "sdk"] as const)("the transport %s", (transport) => {
  beforeEach(async () => {
    requests = [];
    status = 200;
    server = createServer(async (request, response) => {
      const body = await text(request);
      // The port may have been that of a server for which another test still has a client.
      if (body.includes(`"${TableName}"`)) requests.push({ headers: request.headers, body });
      response.writeHead(status).end("{}");
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    clients = createClients({ endpoint: `http://127.0.0.1:${port}`, region, transport });
  });

  afterEach(() => {
    clients.close();
    server.close();
  });

  const get = (id: number) => new GetItemCommand({ TableName, Key: { pk: { S: `A#${id}` } } });

  const put = (id: number) => new PutItemCommand({ TableName, Item: { pk: { S: `A#${id}` } } });

  test("concurrent requests are each signed for their own content", async () => {
    const { single, retrying } = clients;
    const ids = Array.from({ length: 20 }, (_, i) => i);
    await Promise.all(ids.flatMap((id) => [single.send(put(id)), retrying.send(get(id))]));
    expect(requests).toHaveLength(40);
    for (const request of requests) {
      expect(request.headers["user-agent"]).toBe("meguri");
      expect(request.headers.authorization).toMatch(/Signature=[0-9a-f]{64}$/);
      expect(request.headers.authorization).toContain(`Signature=${signature(request)}`);
    }
    const keys = requests.map(({ body }) => JSON.parse(body).Key?.pk.S).filter(Boolean);
    expect(new Set(keys)).toEqual(new Set(ids.map((id) => `A#${id}`)));
  });

  test("one client sends a request once, the other one retries", async () => {
    status = 500;
    await expect(clients.single.send(get(1))).rejects.toThrow();
    expect(requests).toHaveLength(1);
    await expect(clients.retrying.send(get(1))).rejects.toThrow();
    expect(requests).toHaveLength(1 + 4);
  });

  test.each([
    ["127.0.0.1", "local"],
    ["localhost", "local"],
    // Reaches this machine, but is not one of its loopback addresses.
    ["0.0.0.0", "of-the-chain"],
  ])("requests to %s are signed with the key %s", async (host, key) => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "of-the-chain");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { port } = server.address() as AddressInfo;
    const { single, close } = createClients({
      endpoint: `http://${host}:${port}`,
      region,
      transport,
    });
    onTestFinished(close);
    await single.send(get(1));
    expect(requests[0]?.headers.authorization).toContain(`Credential=${key}/`);
  });
});

test.each([
  ["http://127.8.9.1:8000", true],
  ["http://[::1]:8000", true],
  ["http://localhost:8000", true],
  ["https://vpce-0a1b.dynamodb.ap-northeast-1.vpce.amazonaws.com", false],
  ["https://dynamodb-fips.us-east-1.amazonaws.com", false],
  ["http://dynamodb:8000", false],
  ["http://localhost.example:8000", false],
  ["http://127.0.0.1.example:8000", false],
  [undefined, false],
])("%s has local credentials: %s", (endpoint, isLocal) => {
  expect(usesLocalCredentials(endpoint)).toBe(isLocal);
});

/** Signature Version 4 as in the AWS documentation. */
function signature({ headers, body }: Request): string {
  const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? "")?.[1] ?? "";
  expect(signed.split(";")).toEqual(expect.arrayContaining(["host", "x-amz-date", "x-amz-target"]));
  const sha256 = (data: string) => createHash("sha256").update(data).digest("hex");
  const hmac = (key: string | Buffer, data: string) =>
    createHmac("sha256", key).update(data).digest();
  const lines = signed.split(";").map((name) => `${name}:${headers[name]}\n`);
  const canonical = `POST\n/\n\n${lines.join("")}\n${signed}\n${sha256(body)}`;
  const time = String(headers["x-amz-date"]);
  const scope = [time.slice(0, 8), region, "dynamodb", "aws4_request"];
  const key = scope.reduce<string | Buffer>(hmac, "AWS4local");
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope.join("/")}\n${sha256(canonical)}`;
  return hmac(key, toSign).toString("hex");
}
