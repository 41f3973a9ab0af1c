/** Checks deploy/compose.yaml: its form, and that the processes understand what it gives them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ProcessKind, readConfig, reads } from "../../src/platform/config/config.ts";
import { nodeFlags } from "../../tools/dev/stack/service.ts";
import {
  composeFile,
  documentedEnv,
  loadCompose,
  type Services,
} from "../support/deploy/compose.ts";

const kinds: readonly ProcessKind[] = ["server", "worker", "events", "setup"];
const entries = {
  server: ".build/server.js",
  worker: ".build/worker.js",
  events: ".build/events.js",
  setup: "src/ops/setup.ts",
};

let services: Services;
let folder: string;
beforeAll(async () => {
  services = await loadCompose();
  folder = await mkdtemp(join(tmpdir(), "meguri-secrets-"));
  const secrets = Object.values(services).flatMap((service) => service.secrets);
  for (const { source } of secrets) await writeFile(join(folder, source), "");
});
afterAll(() => rm(folder, { recursive: true }));

/** The configuration of a service, with its secrets in a folder of this machine. */
function configOf(kind: ProcessKind) {
  const { environment, secrets } = services[kind];
  const given = Object.entries({ ...documentedEnv(), ...environment }).map(([name, value]) => {
    const secret = secrets.find(({ target }) => target === value);
    return [name, secret ? join(folder, secret.source) : value];
  });
  return readConfig(Object.fromEntries(given), kind);
}

test("the file conforms to the Compose Specification", async () => {
  expect(Object.keys(services).sort()).toEqual([...kinds].sort());
  const wrong = composeFile.replace("read_only:", "readonly:");
  await expect(loadCompose(wrong)).rejects.toThrow("readonly");
});

test.each(kinds)("the %s reads all variables that it is given", (kind) => {
  const config = configOf(kind);
  expect(config.drainSeconds).toBe(20);
  for (const name of Object.keys(services[kind].environment)) {
    if (name.startsWith("MEGURI_")) expect(name === "MEGURI_HOST" || reads(kind, name)).toBe(true);
  }
});

test.each(kinds)("the %s is started as by npm", (kind) => {
  const entry = entries[kind as keyof typeof entries];
  expect(services[kind].command).toEqual([...nodeFlags(entry), entry]);
});

test.each(kinds)("the %s has no rights that it does not need, and time to drain", (kind) => {
  const service = services[kind];
  expect(service).toMatchObject({
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    restart: kind === "setup" ? "no" : "unless-stopped",
  });
  expect(service).not.toHaveProperty("user");
  expect(service).not.toHaveProperty("privileged");
  // A worker cancels what is left 5 s after its drain.
  const graceSeconds = Number(/^(\d+)s$/.exec(service.stop_grace_period)?.[1]);
  expect(graceSeconds).toBeGreaterThan(configOf(kind).drainSeconds + 5);
});

test("the setup runs first, then the events process, then the worker, then the server", () => {
  const done = { condition: "service_completed_successfully" };
  const started = { condition: "service_started" };
  expect(services.setup.depends_on).toBeUndefined();
  expect(services.worker.depends_on).toMatchObject({ setup: done, events: started });
  expect(services.events.depends_on).toMatchObject({ setup: done });
  expect(services.server.depends_on).toMatchObject({
    setup: done,
    worker: { condition: "service_healthy" },
  });
});

test("probes and published ports are those of the processes", () => {
  const { port, http1Port, operatorsPort } = configOf("server");
  expect(services.server.ports?.map(({ target }) => target)).toEqual([port, http1Port]);
  expect(services.worker.ports).toBeUndefined();
  expect(services.server.healthcheck?.test.at(-1)).toBe(`http://127.0.0.1:${operatorsPort}/readyz`);
  const { metricsPort } = configOf("worker");
  expect(services.worker.healthcheck?.test.at(-1)).toBe(`http://127.0.0.1:${metricsPort}/readyz`);
  expect(services.events.ports).toBeUndefined();
  const { eventsPort } = configOf("events");
  expect(services.events.healthcheck?.test.at(-1)).toBe(`http://127.0.0.1:${eventsPort}/readyz`);
});
