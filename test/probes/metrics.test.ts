/** Tests the metrics that servers and workers have in common. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createMetricsPage, exportStore } from "../../src/probes/metrics.ts";

const noThrottles = () => ({ byTable: new Map(), byTarget: [] });

/** The page of a store that is silent for as long as `silenceMs` says. */
function pageOf(silenceMs: () => number, readMore?: () => Promise<string>) {
  const registry = new Registry();
  exportStore(registry, { storeSilenceMs: silenceMs, storeThrottles: noThrottles });
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
