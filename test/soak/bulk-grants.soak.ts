/** Runs bulk grants of thousands of rows while a worker is killed and the store has faults. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { playCampaign, playCancelledCampaign } from "../support/models/bulk-campaign.ts";
import { type CampaignStack, startCampaignStack } from "../support/servers/campaign-stack.ts";

let stack: CampaignStack;
beforeAll(async () => {
  stack = await startCampaignStack(400);
});
afterAll(() => stack.stop());

test("each good row of 6,000 is granted once, and the exports hold the others", async () => {
  const kills = await playCampaign(stack, {
    bulkGrantId: "summer",
    rowCount: 6_000,
    // About every 3 s of rows, at 200 transactions a second.
    every: 600,
    maxKills: 9,
    timeoutMs: 30 * 60_000,
  });
  expect(kills).toBe(9);
});

test("3,250 rows cancelled half way are counted, and the rest is granted later", async () => {
  const kills = await playCancelledCampaign(stack, {
    bulkGrantId: "autumn",
    rowCount: 3_250,
    every: 480,
    maxKills: 4,
    timeoutMs: 30 * 60_000,
  });
  expect(kills).toBe(4);
});
