/** Tests that no message and no connection breaks the server; test/soak runs ten times as many. */
import { afterAll, beforeAll, test } from "vitest";
import { fuzz } from "../../support/fuzz/campaign.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

let owner: TestServer;
beforeAll(async () => {
  owner = await startServer();
});
afterAll(() => owner.stop());

test("720 random messages and 1,000 connections cause no INTERNAL and keep no memory", async () => {
  await fuzz(owner, { messages: 320, connections: 334 });
}, 400_000);
