/** Tests the metrics that servers and workers have in common. */
import { X509Certificate } from "node:crypto";
import { Registry } from "prom-client";
import { expect, test, vi } from "vitest";
import { exportCertificateEnds, exportKeyAges } from "../../../src/platform/probes/keys.ts";
import { createMetricsPage, exportStore } from "../../../src/platform/probes/metrics.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { createAuthority, loopbackNames } from "../../support/fixtures/certificates.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

vi.mock("node:crypto", { spy: true });

/** The page of a store that is silent for as long as `silenceMs` says. */
function pageOf(silenceMs: () => number, readMore?: () => Promise<string>) {
  const registry = new Registry();
  exportStore(registry, { ...memoryDeps().deps, storeUnansweredMs: silenceMs });
  return createMetricsPage(registry, readMore);
}

test("the silence of the store is that of the moment, though it gives no answer", async () => {
  let silenceMs = 0;
  const page = pageOf(() => silenceMs);
  expect((await page()).text).toContain("\nmeguri_store_silence_seconds 0\n");
  silenceMs = 2_500;
  expect((await page()).text).toContain("\nmeguri_store_silence_seconds 2.5\n");
  silenceMs = 0;
  expect((await page()).text).toContain("\nmeguri_store_silence_seconds 0\n");
});

test("metrics of a library are on the page, which does without them when they fail", async () => {
  const found = await pageOf(
    () => 0,
    async () => "library_total 7\n",
  )();
  expect(found.text).toMatch(/^meguri_store_silence_seconds 0\n(.*\n)*library_total 7\n$/m);
  const failing = await pageOf(
    () => 0,
    () => Promise.reject(new Error("no answer")),
  )();
  expect(failing.status).toBe(200);
  expect(failing.text).toContain("\nmeguri_store_silence_seconds 0\n");
});

test("what the engine has committed and asked of the store is on the page", async () => {
  const { deps } = memoryDeps();
  const registry = new Registry();
  exportStore(registry, deps);
  deps.tallies.droppedTasks.inc(3);
  await createProgram(deps, { programId: "p", timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
  deps.tallies.store.seconds.observe({ operation: "GetItem" }, 0.004);
  deps.tallies.store.seconds.observe({ operation: "GetItem" }, 20);
  deps.tallies.failedReports.inc({ kind: "REMINDER" });
  const { text } = await createMetricsPage(registry)();
  for (const line of [
    'meguri_commits_total{result="committed"} 1',
    'meguri_commit_batch_calls_bucket{le="1"} 1',
    'meguri_commit_batch_calls_bucket{le="+Inf"} 1',
    "meguri_commit_batch_calls_sum 1",
    "meguri_queued_calls 0",
    "meguri_retries_waiting 0",
    "meguri_background_tasks_dropped_total 3",
    'meguri_reports_failed_total{kind="REMINDER"} 1',
    'meguri_store_request_seconds_bucket{le="0.0025",operation="GetItem"} 0',
    'meguri_store_request_seconds_bucket{le="0.005",operation="GetItem"} 1',
    'meguri_store_request_seconds_bucket{le="10",operation="GetItem"} 1',
    'meguri_store_request_seconds_bucket{le="+Inf",operation="GetItem"} 2',
    'meguri_store_request_seconds_count{operation="GetItem"} 2',
  ]) {
    expect(text).toContain(`\n${line}\n`);
  }
});

test("the labels of a count are written once, though many pages are asked for", async () => {
  const { deps } = memoryDeps();
  const registry = new Registry();
  exportStore(registry, deps);
  let reads = 0;
  const labels = {
    get kind() {
      reads += 1;
      return 'a "kind"';
    },
  };
  deps.tallies.failedReports.inc(labels);
  const page = createMetricsPage(registry);
  const line = (count: number) => `meguri_reports_failed_total{kind="a \\"kind\\""} ${count}\n`;
  expect((await page()).text).toContain(line(1));
  const readsOfFirst = reads;
  deps.tallies.failedReports.inc({ kind: 'a "kind"' });
  expect((await page()).text).toContain(line(2));
  expect(reads).toBe(readsOfFirst);
});

test("keys have their age at the moment, and a server without keys has no sample", async () => {
  const registry = new Registry();
  let ageMs = 1_500;
  exportKeyAges(registry, { jwt: () => ageMs, tls: () => 250 });
  const page = createMetricsPage(registry);
  expect((await page()).text).toContain('\nmeguri_key_age_seconds{keys="jwt"} 1.5\n');
  expect((await page()).text).toContain('\nmeguri_key_age_seconds{keys="tls"} 0.25\n');
  ageMs = 90_000;
  expect((await page()).text).toContain('\nmeguri_key_age_seconds{keys="jwt"} 90\n');
  const without = new Registry();
  exportKeyAges(without, {});
  expect(await without.metrics()).not.toMatch(/^meguri_key_age_seconds/m);
});

test("the first end of the certificates of a file is on the page, and follows it", async () => {
  const authority = await createAuthority("test");
  const issue = async (end: string) => (await authority.issue(loopbackNames, new Date(end))).cert;
  const early = await issue("2030-01-01T00:00:00Z");
  const late = await issue("2031-01-01T00:00:00Z");
  let pem = late + early;
  const registry = new Registry();
  exportCertificateEnds(registry, { tls: () => pem });
  const end = async () => (await registry.metrics()).match(/_end_.+="tls"\} (\d+)/)?.[1];
  vi.mocked(X509Certificate).mockClear();
  expect(await end()).toBe(String(Date.parse("2030-01-01T00:00:00Z") / 1_000));
  const [start = ""] = (await registry.metrics()).match(/(?<=_start_.+} )\d+/) ?? [];
  expect(Number(start)).toBeLessThan(Date.now() / 1_000);
  // Each of the two is parsed once for both metrics and both pages.
  expect(X509Certificate).toHaveBeenCalledTimes(2);
  pem = late;
  expect(await end()).toBe(String(Date.parse("2031-01-01T00:00:00Z") / 1_000));
});

test("of authorities the last end is on the page, which a damaged file leaves whole", async () => {
  const authority = await createAuthority("test");
  const issue = async (end: string) => (await authority.issue(loopbackNames, new Date(end))).cert;
  const pem = (await issue("2030-01-01T00:00:00Z")) + (await issue("2031-01-01T00:00:00Z"));
  const registry = new Registry();
  let damaged = pem;
  const damage = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
  exportCertificateEnds(registry, {
    client_ca: () => pem,
    temporal_ca: () => damaged,
    announce_ca: () => "no certificate",
  });
  const named = async () => (await registry.metrics()).match(/(?<=_end_.+=")\w+"} \d+/g);
  const end = Date.parse("2031-01-01T00:00:00Z") / 1_000;
  expect(await named()).toEqual([`client_ca"} ${end}`, `temporal_ca"} ${end}`]);
  damaged += damage;
  expect(await named()).toEqual([`client_ca"} ${end}`]);
});
