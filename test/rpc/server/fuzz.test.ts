/** Tests that no message and no connection breaks the server; test/soak runs ten times as many. */
import { test } from "vitest";
import { fuzz } from "../../support/fuzz/campaign.ts";

test("270 random messages and 1,000 connections cause no INTERNAL and keep no memory", async () => {
  await fuzz({ messages: 120, connections: 334 });
}, 400_000);
