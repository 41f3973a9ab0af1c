/** Compares the tables of `docs/run/metrics.md` with the pages of real processes. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMeguri, type Meguri } from "../../packages/client/src/index.ts";
import { installationRef } from "../../src/platform/ports/records.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { changeRecord } from "../../src/platform/work/change-record.ts";
import { reconcileId } from "../../src/reservations/contract/reconciler.ts";
import { pauseProgramReservations } from "../../src/reservations/use-cases/pause.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { type DynamoDbLocal, startDynamoDbLocal } from "../../tools/dev/stack/dynamodb-local.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { approve, comesTo, submit, usersOf } from "../support/fixtures/bulk-grants.ts";
import { isListed } from "../support/fixtures/operators.ts";
import { expectGrantedOnce, reserveAndStart } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWebHook, type WebHook } from "../support/fixtures/web-hook.ts";
import { projectRoot } from "../support/markdown.ts";
import { readPage } from "../support/servers/operators.ts";
import { promtool } from "../support/servers/promtool.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let dynamoDbLocal: DynamoDbLocal | undefined;
let stack: WorkerStack;
let server: Child;
let worker: Child;
let operatorsPort: number;
let metricsPort: number;
let eventsPort: number;
let folder: string;
let hook: WebHook;
let events: Child;
beforeAll(async () => {
  // Of its own: there a read of any stream takes as long as there are changes in all streams.
  dynamoDbLocal = await startDynamoDbLocal();
  const onIt = { MEGURI_DYNAMODB_ENDPOINT: dynamoDbLocal.endpoint };
  stack = await startWorkerStack({ store: "proxied dynamodb", worker: false, env: onIt });
  const ports = await findPorts(0, 0, 0, 0, 0);
  [operatorsPort, metricsPort, , , eventsPort] = ports;
  folder = await mkdtemp(join(tmpdir(), "meguri-metrics-"));
  hook = await startWebHook(folder);
  await changeRecord(stack.deps, { ref: installationRef }, () => ({ id: randomUUID() }));
  events = await stack.startEventsProcess({
    MEGURI_EVENTS_PORT: String(eventsPort),
    MEGURI_EVENT_SUBSCRIPTIONS: hook.subscriptions,
  });
  server = await stack.startServerProcess({
    MEGURI_PORT: String(ports[2]),
    MEGURI_HTTP1_PORT: String(ports[3]),
    MEGURI_OPERATORS_PORT: String(operatorsPort),
  });
  worker = await stack.startWorkerProcess({ MEGURI_METRICS_PORT: String(metricsPort) });
  await work();
  const meguri = createMeguri({ url: `http://127.0.0.1:${ports[2]}`, caller: "tests" });
  await call(meguri, ports[3]).finally(() => meguri.close());
});
afterAll(async () => {
  await worker?.stop();
  await server?.stop();
  await events?.stop();
  await stack?.stop();
  await dynamoDbLocal?.stop();
  hook?.close();
  await rm(folder, { recursive: true });
});

/** Gives the worker grants, rows that the store throttles, and a pass that counts what waits. */
async function work(): Promise<void> {
  await reserveAndStart(stack, { id: "planted-reservation", userId: "planted-user" });
  await expectGrantedOnce(stack, "planted-reservation");

  await submit(stack.deps, stack.programId, {
    id: "planted-campaign",
    userIds: usersOf("planted-user", 3),
  });
  const waiting = await comesTo(stack, "planted-campaign", "AWAITING_APPROVAL");
  stack.proxy.faults({ throttle: 0.2 });
  await approve(stack.deps, waiting);
  await comesTo(stack, "planted-campaign", "DONE");
  stack.proxy.faults({});

  const paused = { caller: asService("desk"), reason: "planted-reason", deadline: undefined };
  await pauseProgramReservations(stack.deps, { programId: stack.programId, ...paused });
  await reserveAndStart(stack, { id: "planted-paused" });
  await isListed(stack, "planted-paused", 'MeguriState = "PAUSED"');
  // The server makes the schedule, whose next pass by itself comes within a minute.
  await eventually(() => stack.client.schedule.getHandle(reconcileId).trigger());
}

/** Calls the server: with success, without a caller, with a stream, and for throttled targets. */
async function call({ points, notifications, reactions }: Meguri, http1Port: number) {
  const { programId } = stack;
  await points.grantPoints({ programId, userId: "planted-user", eventId: "planted", points: 1n });
  const path = "/meguri.points.v1.PointsService/GrantPoints";
  const refused = await fetch(`http://127.0.0.1:${http1Port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  expect(refused.status).toBe(401);

  const leaving = new AbortController();
  const watches = [{ ownerId: "planted-owner" }];
  const stream = notifications.watchUnreadCounts({ watches }, { signal: leaving.signal });
  for await (const _ of stream) break;
  leaving.abort();

  const targetName = { type: "post", id: "planted-target" };
  await reactions.registerTarget({ targetName, ownerId: "planted-owner" });
  stack.proxy.faults({ throttle: 1 });
  await eventually(async () => {
    const person = { userId: "planted-user", displayName: "planted-name" };
    const react = () =>
      reactions.react({ targetName, ...person }, { timeoutMs: 500 }).catch(() => {});
    await Promise.all(Array.from({ length: 10 }, react));
    expect(await metricsOf(operatorsPort)).toMatch(/^meguri_target_throttle_samples_total\{/m);
  });
  stack.proxy.faults({});
}

interface Family {
  readonly type: string;
  /** Of a page: the labels that samples have, so none without a sample. */
  readonly labels: readonly string[];
}

type Families = Readonly<Record<string, Family>>;

/** The families of the table below a heading. */
function documented(heading: string): Families {
  const text = readFileSync(`${projectRoot}docs/run/metrics.md`, "utf8");
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const rows = [...section.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \|/gm)];
  expect(rows.length).toBeGreaterThan(0);
  return Object.fromEntries(
    rows.map(([, name, type = "", labels = ""]) => {
      return [name, { type, labels: labelsIn(labels, /`(\w+)`/g) }];
    }),
  );
}

/** The families of a page. The labels of buckets and quantiles belong to their types. */
function served(page: string): Families {
  const types = [...page.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  const samples = [...page.matchAll(/^(\w+)\{(.*)\} /gm)];
  return Object.fromEntries(
    types.map(([, name = "", type = ""]) => {
      const own = new RegExp(`^${name}${type === "histogram" ? "_(bucket|sum|count)" : ""}$`);
      const texts = samples.filter(([, sample = ""]) => own.test(sample)).map(([, , text]) => text);
      const labels = labelsIn(texts.join(","), /(\w+)="/g).filter((label) => label !== "le");
      return [name, { type, labels }];
    }),
  );
}

const labelsIn = (text: string, pattern: RegExp): string[] =>
  [...new Set([...text.matchAll(pattern)].map(([, label = ""]) => label))].sort();

/** Families of ours that have no sample on the pages of this file. */
const unsampled = {
  // The processes of this file have no keys: platform/probes/metrics.test.ts has their samples.
  server: [
    "meguri_account_throttle_samples_total",
    "meguri_store_refusals_total",
    "meguri_key_age_seconds",
    "meguri_certificate_end_timestamp_seconds",
    "meguri_certificate_start_timestamp_seconds",
  ],
  // The purge of a target that is throttled.
  worker: [
    "meguri_target_throttle_samples_total",
    "meguri_account_throttle_samples_total",
    "meguri_store_refusals_total",
    "meguri_key_age_seconds",
    "meguri_certificate_end_timestamp_seconds",
    "meguri_certificate_start_timestamp_seconds",
    // Nothing fails here: worker/failures.test.ts has its samples.
    "meguri_failures_total",
  ],
  // The records of targets and accounts are the servers'.
  events: [
    "meguri_target_throttle_samples_total",
    "meguri_account_throttle_samples_total",
    "meguri_store_refusals_total",
  ],
} as const;

/**
 * Expects that the page has exactly these families, and a sample of each of ours. Another one
 * without a sample shows no labels.
 */
function expectFamilies(
  page: string,
  of: keyof typeof unsampled,
  expected: Families,
  isLeftOut = (_name: string) => false,
) {
  const isSampled = (name: string) => new RegExp(`^${name}(_bucket)?[ {]`, "m").test(page);
  const found = Object.entries(served(page)).filter(([name]) => !isLeftOut(name));
  const known = found.map(([name, family]) => {
    const labels = isSampled(name) ? family.labels : (expected[name]?.labels ?? []);
    return [name, { ...family, labels }];
  });
  expect(Object.fromEntries(known)).toEqual(expected);
  const ours = Object.keys(expected).filter((name) => name.startsWith("meguri_"));
  expect(ours.filter((name) => !isSampled(name))).toEqual(unsampled[of]);
}

/** Reads the page, which nobody may be named on. */
async function metricsOf(port: number): Promise<string> {
  const { status, text } = await readPage(port, "/metrics");
  expect(status).toBe(200);
  expect(text).not.toContain("planted-");
  return text;
}

const common = () => ({
  ...documented("Of servers and workers"),
  ...documented("Of the process"),
});

/**
 * Parses the whole page, and lints the lines of our own families: libraries name theirs as they
 * like.
 */
async function lint(page: string): Promise<void> {
  const check = (text: string) => promtool(["check", "metrics"], text);
  await check(page).catch((error: Error) => {
    if (error.message.includes("error while linting")) throw error;
  });
  await check(page.replaceAll(/^(?!(# \w+ )?meguri_).*\n/gm, ""));
}

test.each(["server", "worker", "events process"])(
  "promtool finds nothing wrong with the page of the %s",
  async (of) => {
    const ofOthers = of === "worker" ? metricsPort : eventsPort;
    const page = await metricsOf(of === "server" ? operatorsPort : ofOthers);
    expect(page).toMatch(/^meguri_store_silence_seconds \d/m);
    await lint(page);
  },
);

test("promtool finds what is wrong with a page", async () => {
  await expect(lint("meguri_seconds 1\nother_seconds 1\n")).rejects.toThrow("no help text");
  await expect(lint('other_seconds{a="1} 1\n')).rejects.toThrow("parsing error");
});

test("a server has the families of servers and of the process", async () => {
  const expected = { ...common(), ...documented("Of servers") };
  expectFamilies(await metricsOf(operatorsPort), "server", expected);
});

test("a worker has its own families, those of the process and those of the SDK", async () => {
  const later = documented("Of the Temporal SDK, from their first event on");
  const expected = {
    ...common(),
    ...documented("Of workers"),
    ...documented("Of the Temporal SDK"),
  };
  // The SDK counts the end of a task after its answer.
  await eventually(async () => {
    const page = await metricsOf(metricsPort);
    expectFamilies(page, "worker", expected, (name) => name in later);
    expect(page).toContain('meguri_bulk_rows_total{outcome="granted"} 3\n');
    for (const [name, { type }] of Object.entries(served(page))) {
      if (name in later) expect(type).toBe(later[name]?.type);
    }
  });
});

/** Families of servers and workers that an events process does not have. */
const notOfEvents =
  /^meguri_(background_tasks_dropped_total|reports_failed_total|key_age_|certificate_)/;

test("an events process has its own families, those of the store and of the process", async () => {
  const shared = Object.entries(common()).filter(([name]) => !notOfEvents.test(name));
  const expected = { ...Object.fromEntries(shared), ...documented("Of events processes") };
  // It writes once it holds the lease, and delivers what the calls have changed.
  await eventually(async () => {
    const page = await metricsOf(eventsPort);
    expectFamilies(page, "events", expected);
    expect(page).toContain("meguri_events_writing 1\n");
    expect(page).toMatch(/^meguri_events_appended_total\{table="points"\} [1-9]/m);
    expect(page).toMatch(/^meguri_subscription_events_total\{subscription="hook"\} [1-9]/m);
  });
});
