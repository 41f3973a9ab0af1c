/** Random messages and connections against a server; `npm test` sends a tenth of them. */
import { test } from "vitest";
import { fuzz } from "../support/fuzz/campaign.ts";

test("2,700 messages and 10,000 connections cause no INTERNAL and keep no memory", async () => {
  await fuzz({ messages: 1_200, connections: 3_334 });
});
