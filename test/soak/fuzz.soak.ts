/** Random messages and connections against a server; `npm test` sends a tenth of them. */
import { afterAll, beforeAll, test } from "vitest";
import { fuzz } from "../support/fuzz/campaign.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";

let owner: TestServer;
beforeAll(async () => {
  owner = await startServer();
});
afterAll(() => owner.stop());

test("7,200 messages and 10,000 connections cause no INTERNAL and keep no memory", async () => {
  await fuzz(owner, { messages: 3_200, connections: 3_334 });
});
