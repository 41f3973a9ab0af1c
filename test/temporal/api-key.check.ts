/** Replaces the API key for Temporal while a server and a worker, as processes, go on. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Reservation_State as State } from "../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { createAuthority } from "../support/fixtures/certificates.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type ServerProcess, startServerProcess } from "../support/servers/server-process.ts";
import { startTemporalTls, type TemporalTls } from "../support/servers/temporal-tls.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

const serverName = "temporal.example";

let folder: string;
let stack: WorkerStack;
let behindServer: TemporalTls;
let behindWorker: TemporalTls;
let server: ServerProcess;
let worker: Child;

const file = (name: string) => join(folder, name);

/** Replaces the key at one moment, as Kubernetes and the agents of secret stores do. */
async function rotate(key: string): Promise<void> {
  await writeFile(file("next.key"), `${key}\n`);
  await rename(file("next.key"), file("api.key"));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-api-key-"));
  stack = await startWorkerStack({ store: "dynamodb", worker: false });
  const authority = await createAuthority("Temporal test");
  const certificate = await authority.issue([{ type: "dns", value: serverName }]);
  await writeFile(file("ca.crt"), authority.cert);
  await rotate("old-key");
  const { temporalAddress, temporalNamespace, tablePrefix, taskQueue } = stack.config;
  behindServer = await startTemporalTls(certificate, temporalAddress);
  behindWorker = await startTemporalTls(certificate, temporalAddress);
  const env = (temporal: TemporalTls) => {
    temporal.accept("old-key", "new-key");
    return {
      MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"),
      MEGURI_TABLE_PREFIX: tablePrefix,
      AWS_REGION: "local",
      MEGURI_TEMPORAL_ADDRESS: temporal.address,
      MEGURI_TEMPORAL_NAMESPACE: temporalNamespace,
      MEGURI_TASK_QUEUE: taskQueue,
      MEGURI_TEMPORAL_TLS: "1",
      MEGURI_TEMPORAL_TLS_CA_FILE: file("ca.crt"),
      MEGURI_TEMPORAL_SERVER_NAME: serverName,
      MEGURI_TEMPORAL_API_KEY_FILE: file("api.key"),
      MEGURI_LOG_LEVEL: "silent",
    };
  };
  server = await startServerProcess(env(behindServer));
  worker = await stack.startWorkerProcess(env(behindWorker));
});

afterAll(async () => {
  await server?.stop();
  await worker?.killHard();
  behindServer?.stop();
  behindWorker?.stop();
  await stack?.stop();
  await rm(folder, { recursive: true });
});

/** Reserves for a moment that comes soon, and waits until the worker has granted the points. */
async function reserve(): Promise<void> {
  const { reservations } = server.clientsOf("shop");
  const { programId } = stack;
  const reservationId = randomUUID();
  await reservations.createReservation({
    programId,
    reservationId,
    userId: "u-1",
    points: 10n,
    executeTime: { seconds: BigInt(Math.ceil(Date.now() / 1_000) + 1), nanos: 0 },
  });
  await eventually(async () => {
    const { reservation } = await reservations.getReservation({ programId, reservationId });
    expect(reservation?.state).toBe(State.DONE);
  });
}

test("server and worker go on with a new API key, and the old one may be deleted", async () => {
  await reserve();
  const proxies = [behindServer, behindWorker];
  for (const { keys } of proxies) expect(new Set(keys)).toEqual(new Set(["old-key"]));
  await rotate("new-key");
  await eventually(async () => {
    await reserve();
    for (const { keys } of proxies) expect(keys).toContain("new-key");
  });
  for (const { accept } of proxies) accept("new-key");
  const before = proxies.map(({ keys }) => keys.length);
  await reserve();
  proxies.forEach(({ keys }, i) => {
    const later = keys.slice(before[i]);
    expect(later.length).toBeGreaterThan(0);
    expect(new Set(later)).toEqual(new Set(["new-key"]));
  });
});
