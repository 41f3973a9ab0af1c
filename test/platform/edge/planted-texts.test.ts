/** Tests with every RPC that nothing personal is in a log line, a span or a metric. */
import { createGrpcTransport } from "@connectrpc/connect-node";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { encodeId } from "../../../src/feed/rpc/notifications/ids.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { startTracing } from "../../../src/platform/observe/tracing.ts";
import { allScopes } from "../../support/fixtures/descriptors.ts";
import { goodRequests, type Init, target } from "../../support/fixtures/good-requests.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { callRpc, type Rpc, rpcs } from "../../support/servers/any-rpc.ts";
import { type Collector, startCollector } from "../../support/servers/collector.ts";
import {
  claimsOf,
  createSigningKey,
  type Issuer,
  jwtVariables,
  signToken,
  startIssuer,
} from "../../support/servers/issuer.ts";
import { readPage } from "../../support/servers/operators.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

const ownerId = "planted-owner";
const notificationId = encodeId({ ownerId, target, kind: "like", generation: 1 });

/** What replaces the texts of the good requests, by the names of the fields. */
const planted: Readonly<Record<string, string>> = {
  userId: "planted-user",
  viewerId: "planted-viewer",
  displayName: "planted-name",
  reason: "planted-reason",
  reasonPrefix: "planted-prefix",
  title: "planted-title",
  link: "https://example.com/planted-link",
  ownerId,
  notificationId,
};

function plant(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plant);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, each]) => [name, planted[name] ?? plant(each)]);
  const copy = Object.fromEntries(fields);
  return copy.case === "userId" ? { ...copy, value: planted.userId } : copy;
}

const text: string[] = [];
const log = pino({ level: "debug" }, { write: (line: string) => void text.push(line) });

let collector: Collector;
let issuer: Issuer;
let token: string;
let server: MemoryServer;
let stopTracing: () => Promise<void>;
beforeAll(async () => {
  collector = await startCollector();
  const key = await createSigningKey("key");
  issuer = await startIssuer([key]);
  token = await signToken(key, claimsOf({ sub: "planted-subject", scope: allScopes.join(" ") }));
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: "10" };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  server = await startMemoryServer({ ...env, ...jwtVariables(issuer) }, log);
  stopTracing = await startTracing(server.config, "tests", createLogger("test", "silent"));
});
afterAll(async () => {
  await server.stop();
  await stopTracing();
  await issuer.stop();
  await collector.stop();
  vi.unstubAllEnvs();
});

/** Sends a request, and reads the first message of the answer, whatever becomes of it. */
async function call(rpc: Rpc, authorization: string) {
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.port}` });
  const leaving = new AbortController();
  const options = { headers: { authorization }, signal: leaving.signal };
  try {
    await callRpc(rpc, transport, plant(goodRequests[rpc.name]) as Init, options);
  } catch {
    // A refusal leaves a line as well.
  } finally {
    leaving.abort();
  }
}

test.each(rpcs)("$name", async (rpc) => {
  const before = text.filter((line) => line.includes('"msg":"call"')).length;
  await call(rpc, `Bearer ${token}`);
  await call(rpc, "Bearer planted-token");
  await eventually(async () => {
    const calls = text.filter((line) => line.includes('"msg":"call"')).slice(before);
    expect(calls).toHaveLength(2);
    expect(calls[0]).toContain(`/${rpc.name}"`);
  });
  expect(text.join("")).not.toContain("planted-");
});

test("spans and metrics name nobody, after all of these calls", async () => {
  await eventually(async () => expect(collector.spans.length).toBeGreaterThan(rpcs.length));
  expect(JSON.stringify(collector.spans)).not.toContain("planted-");
  const { text: page } = await readPage(server.operatorsPort, "/metrics");
  expect(page).toContain('service="shop"');
  expect(page).not.toContain("planted-");
});
