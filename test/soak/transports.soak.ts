/** Compares the thin transport with the SDK on more random commands than `npm test`. */
import { test } from "vitest";
import { inForm, soakSeed } from "../support/soak.ts";
import { compareTransports } from "../support/stores/transports.ts";

const timeout = 40 * 60_000;

test("random commands are sent and answered as by the SDK", { timeout }, async () => {
  await compareTransports(inForm({ short: 1_500, long: 100_000 }), soakSeed(20_261_129));
});
