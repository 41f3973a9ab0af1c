/** Tests TLS, client certificates and API keys towards Temporal, of servers and of workers. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createSecureServer, type Http2SecureServer, type IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { composeWorkflows, temporalEndpoint } from "../../src/compose.ts";
import { type Config, readConfig } from "../../src/config/config.ts";
import { createLogger } from "../../src/log.ts";
import { awaitConnection } from "../../src/worker/connect.ts";
import { createAuthority } from "../support/fixtures/certificates.ts";

const serverName = "temporal.example";
const log = createLogger("test", "silent");

let folder: string;
let frontend: Http2SecureServer;
let calls: { readonly headers: IncomingHttpHeaders; readonly client: string | undefined }[] = [];

const file = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-temporal-"));
  const authority = await createAuthority("Temporal test");
  const server = await authority.issue([{ type: "dns", value: serverName }]);
  const client = await authority.issue([{ type: "url", value: "spiffe://example.org/meguri" }]);
  await writeFile(file("ca.crt"), authority.cert);
  await writeFile(file("client.crt"), client.cert);
  await writeFile(file("client.key"), client.key);
  // A frontend that verifies clients, and answers every call with an empty message.
  frontend = createSecureServer({
    ...server,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  frontend.on("stream", (stream, headers) => {
    const socket = stream.session?.socket as TLSSocket;
    calls.push({ headers, client: socket.getPeerX509Certificate()?.subjectAltName });
    stream.respond(
      { ":status": 200, "content-type": "application/grpc" },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.alloc(5));
    stream.resume();
  });
  frontend.listen({ host: "127.0.0.1", port: 0 });
  await once(frontend, "listening");
});

afterEach(() => {
  calls = [];
});

afterAll(async () => {
  frontend.close();
  await rm(folder, { recursive: true });
});

/** The configuration of a process that has all it needs, with some variables changed. */
const configOf = (env: Record<string, string | undefined> = {}): Config =>
  readConfig(
    {
      MEGURI_TEMPORAL_ADDRESS: `127.0.0.1:${(frontend.address() as AddressInfo).port}`,
      MEGURI_TEMPORAL_TLS: "1",
      MEGURI_TEMPORAL_TLS_CA_FILE: file("ca.crt"),
      MEGURI_TEMPORAL_TLS_CERT_FILE: file("client.crt"),
      MEGURI_TEMPORAL_TLS_KEY_FILE: file("client.key"),
      MEGURI_TEMPORAL_SERVER_NAME: serverName,
      MEGURI_TEMPORAL_API_KEY: "secret-key",
      ...env,
    },
    "server",
  );

/** Connects as a worker does; undefined when the first try has failed. */
async function connectWorker(env?: Record<string, string | undefined>) {
  const stopping = new AbortController();
  const warn = () => stopping.abort();
  const noticed = Object.assign(Object.create(log), { warn });
  return awaitConnection(temporalEndpoint(configOf(env)), noticed, stopping.signal);
}

/** Calls as a server does. */
async function describeNamespace(env?: Record<string, string | undefined>): Promise<void> {
  const workflows = composeWorkflows(configOf(env), log);
  const { call, connection, namespace } = workflows.link;
  try {
    await call(() => connection.workflowService.describeNamespace({ namespace }));
  } finally {
    await workflows.close();
  }
}

const secured = {
  headers: expect.objectContaining({ authorization: "Bearer secret-key" }),
  client: "URI:spiffe://example.org/meguri",
};

test("a server shows its certificate and its API key", async () => {
  await describeNamespace();
  expect(calls).toContainEqual(secured);
});

test("a worker shows its certificate and its API key", async () => {
  const connection = await connectWorker();
  await connection?.close();
  expect(connection).toBeDefined();
  expect(calls).toContainEqual(secured);
});

test.each([
  [
    "no client certificate",
    { MEGURI_TEMPORAL_TLS_CERT_FILE: undefined, MEGURI_TEMPORAL_TLS_KEY_FILE: undefined },
  ],
  ["the public authorities", { MEGURI_TEMPORAL_TLS_CA_FILE: undefined }],
  ["another server's name", { MEGURI_TEMPORAL_SERVER_NAME: "other.example" }],
])("with %s, neither a server nor a worker sends anything", async (_, env) => {
  await expect(describeNamespace(env)).rejects.toMatchObject({ reason: "WORKFLOWS_UNAVAILABLE" });
  expect(await connectWorker(env)).toBeUndefined();
  expect(calls).toEqual([]);
});

test("a file that is missing ends the process at start", () => {
  const env = { MEGURI_TEMPORAL_TLS_CA_FILE: file("none") };
  expect(() => configOf(env)).toThrow("MEGURI_TEMPORAL_TLS_CA_FILE names a file that is not there");
});
