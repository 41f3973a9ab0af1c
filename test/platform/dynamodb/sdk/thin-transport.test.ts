/** Tests that the thin transport sends what the SDK sends, and reads what it reads. */
import { test } from "vitest";
import { compareTransports } from "../../../support/stores/transports.ts";

test("500 random commands are sent and answered as by the SDK", async () => {
  await compareTransports(500);
});
