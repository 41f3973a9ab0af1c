/** Random messages and connections against a server, more than `npm test` sends. */
import { test } from "vitest";
import { fuzz } from "../support/fuzz/campaign.ts";
import { inForm, soakSeed } from "../support/soak.ts";

test("messages and connections cause no INTERNAL and keep no memory", async () => {
  await fuzz({
    messages: inForm({ short: 160, long: 1_200 }),
    connections: inForm({ short: 200, long: 3_334 }),
    seed: soakSeed(20_261_128),
  });
});
