/** Tests that no message and no connection breaks the server; test/soak sends ten times as many. */
import { test } from "vitest";
import { fuzz } from "../../support/fuzz/campaign.ts";

/** Found JSON over gRPC with half a surrogate pair in a field's name, which got no answer. */
const halfPair = 774_111_669;

test("270 random messages and 1,000 connections cause no INTERNAL and keep no memory", async () => {
  await fuzz({ messages: 120, connections: 334, seed: halfPair });
}, 400_000);
