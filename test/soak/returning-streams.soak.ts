/** Tests that thousands of streams of a server that stops come to another one. */
import { expect, test } from "vitest";
import { drainToAnother } from "../support/servers/drain-to-another.ts";
import { inForm } from "../support/soak.ts";

test("all streams come to the other server, whose calls are answered", async () => {
  expect(await drainToAnother(inForm({ short: 1_000, long: 4_000 }))).toBeGreaterThan(0);
});
