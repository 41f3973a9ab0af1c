/** Tests bulk grants whose workers are killed and whose store has faults. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type CampaignStack,
  playCampaign,
  startCampaignStack,
} from "../support/models/bulk-campaign.ts";

let stack: CampaignStack;
beforeAll(async () => {
  stack = await startCampaignStack(400);
});
afterAll(() => stack.stop());

test("each good row of a sheet is granted once, and the exports hold the others", async () => {
  const kills = await playCampaign(stack, {
    bulkGrantId: "summer",
    rowCount: 600,
    every: 200,
    maxKills: 2,
    timeoutMs: 120_000,
  });
  expect(kills).toBe(2);
}, 300_000);
