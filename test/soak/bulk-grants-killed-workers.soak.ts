/** Tests bulk grants whose workers are killed and whose store has faults. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { playCampaign } from "../support/models/bulk-campaign.ts";
import { type CampaignStack, startCampaignStack } from "../support/servers/campaign-stack.ts";

let stack: CampaignStack;
beforeAll(async () => {
  stack = await startCampaignStack(400);
});
afterAll(() => stack.stop());

test("each good row of a sheet is granted once, and the exports hold the others", async () => {
  const kills = await playCampaign(stack, {
    bulkGrantId: "summer",
    rowCount: 400,
    every: 200,
    maxKills: 1,
    timeoutMs: 120_000,
  });
  expect(kills).toBe(1);
}, 300_000);
