/** Runs bulk grants of thousands of rows while a worker is killed and the store has faults. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { playCampaign, playCancelledCampaign } from "../support/models/bulk-campaign.ts";
import { type CampaignStack, startCampaignStack } from "../support/servers/campaign-stack.ts";
import { inForm } from "../support/soak.ts";

let stack: CampaignStack;
beforeAll(async () => {
  // Slow in the short form, so that few rows leave time for a cancellation half way.
  stack = await startCampaignStack(inForm({ short: 30, long: 400 }));
});
afterAll(() => stack.stop());

/** Rows, and a kill after so many of them: about every 3 s, at 200 transactions a second. */
const whole = inForm({
  short: { rowCount: 120, every: 60, maxKills: 1 },
  long: { rowCount: 6_000, every: 600, maxKills: 9 },
});
const halved = inForm({
  short: { rowCount: 300, every: 80, maxKills: 1 },
  long: { rowCount: 3_250, every: 480, maxKills: 4 },
});
const timeoutMs = 30 * 60_000;

test("each good row is granted once, and the exports hold the others", async () => {
  const kills = await playCampaign(stack, { bulkGrantId: "summer", timeoutMs, ...whole });
  expect(kills).toBe(whole.maxKills);
});

test("rows cancelled half way are counted, and the rest is granted later", async () => {
  const kills = await playCancelledCampaign(stack, { bulkGrantId: "autumn", timeoutMs, ...halved });
  expect(kills).toBe(halved.maxKills);
});
