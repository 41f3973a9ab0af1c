/** Tests TLS, client certificates and API keys towards Temporal, of servers and of workers. */
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createSecureServer, type Http2SecureServer, type IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { composeWorkflows } from "../../src/compose.ts";
import { type Config, readConfig } from "../../src/platform/config/config.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { awaitConnection } from "../../src/worker/connect.ts";
import { createAuthority } from "../support/fixtures/certificates.ts";
import { eventually } from "../support/fixtures/waiting.ts";

const serverName = "temporal.example";
const log = createLogger("test", "silent");

let folder: string;
let frontend: Http2SecureServer;
/** Values of `authorization` that the frontend does not accept. */
const refused = new Set<string>();
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
  await writeFile(file("api.key"), "secret-key\n");
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
    const status = refused.has(headers.authorization ?? "") ? "16" : "0";
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
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
      MEGURI_TEMPORAL_API_KEY_FILE: file("api.key"),
      ...env,
    },
    "server",
  );

/** Connects as a worker does; undefined when the first try has failed. */
async function connectWorker(env?: Record<string, string | undefined>) {
  const stopping = new AbortController();
  const warn = () => stopping.abort();
  const noticed = Object.assign(Object.create(log), { warn });
  const { endpoint, close } = composeWorkflows(configOf(env), log);
  onTestFinished(close);
  return awaitConnection(endpoint, noticed, stopping.signal);
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

/** Replaces the key at one moment, as Kubernetes and the agents of secret stores do. */
async function rotate(key: string): Promise<void> {
  await writeFile(file("api.key.next"), key);
  await rename(file("api.key.next"), file("api.key"));
  onTestFinished(() => writeFile(file("api.key"), "secret-key\n"));
}

const lastKey = () => calls.at(-1)?.headers.authorization;

test("a server sends a new API key by its open connection, and no bad one", async () => {
  const workflows = composeWorkflows(configOf(), log);
  onTestFinished(() => workflows.close());
  const { connection, namespace } = workflows.link;
  const describe = () => connection.workflowService.describeNamespace({ namespace });
  await describe();
  expect(lastKey()).toBe("Bearer secret-key");
  await rotate("new-key");
  await eventually(async () => {
    await describe();
    expect(lastKey()).toBe("Bearer new-key");
  });
  expect(workflows.keyAges.temporal?.()).toBeLessThan(60_000);
  await rotate(" \n");
  await eventually(async () => expect(workflows.keyAges.temporal?.()).toBeGreaterThan(2_000));
  await describe();
  expect(lastKey()).toBe("Bearer new-key");
});

test("a worker sends a new API key by its open connection", async () => {
  const connection = await connectWorker();
  onTestFinished(() => connection?.close());
  const describe = () => connection?.workflowService.describeNamespace({ namespace: "default" });
  await describe();
  expect(lastKey()).toBe("Bearer secret-key");
  await rotate("new-key");
  await eventually(async () => {
    await describe();
    expect(lastKey()).toBe("Bearer new-key");
  });
});

test("a worker that waits for Temporal tries again with a new API key", async () => {
  await writeFile(file("api.key"), "wrong-key");
  refused.add("Bearer wrong-key");
  onTestFinished(() => refused.clear());
  const { endpoint, close } = composeWorkflows(configOf(), log);
  onTestFinished(close);
  const connecting = awaitConnection(endpoint, log, new AbortController().signal);
  await eventually(async () => expect(lastKey()).toBe("Bearer wrong-key"));
  await rotate("new-key");
  const connection = await connecting;
  onTestFinished(() => connection?.close());
  expect(lastKey()).toBe("Bearer new-key");
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

test.each([
  ["empty", "\n", "the file has no API key"],
  ["of several words", "a key", "an API key is one word of ASCII"],
])("an API key that is %s ends the process at start", async (_, content, message) => {
  await writeFile(file("bad.key"), content);
  const config = configOf({ MEGURI_TEMPORAL_API_KEY_FILE: file("bad.key") });
  const text = `MEGURI_TEMPORAL_API_KEY_FILE cannot be used: ${message}`;
  expect(() => composeWorkflows(config, log)).toThrow(text);
});
