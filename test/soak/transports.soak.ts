/** Compares the thin transport with the SDK on fresh random commands; `npm test` has 500. */
import { test } from "vitest";
import { compareTransports } from "../support/stores/transports.ts";

const timeout = 40 * 60_000;

test("100,000 random commands are sent and answered as by the SDK", { timeout }, async () => {
  const seed = Date.now() % 2 ** 31;
  console.info(`seed ${seed}`);
  await compareTransports(100_000, seed);
});
