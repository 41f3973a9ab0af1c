/** Compares the thin transport with the SDK on fresh random commands; `npm test` has 2,000. */
import { test } from "vitest";
import { compareTransports } from "../support/stores/transports.ts";

test("100,000 random commands are sent and answered as by the SDK", async () => {
  const seed = Date.now() % 2 ** 31;
  console.info(`seed ${seed}`);
  await compareTransports(100_000, seed);
});
