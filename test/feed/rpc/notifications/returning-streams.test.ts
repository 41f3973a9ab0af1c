/** Tests that the streams of a server that stops come to another one, which serves others, too. */
import { expect, test } from "vitest";
import { drainToAnother } from "../../../support/servers/drain-to-another.ts";

test("hundreds of streams come to the other server, whose calls are answered", async () => {
  expect(await drainToAnother(300)).toBeGreaterThan(0);
});
