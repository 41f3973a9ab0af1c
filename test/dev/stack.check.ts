/** Tests how the stack starts processes. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { startDynamoDbLocal } from "../../tools/dev/stack/dynamodb-local.ts";
import { nodeFlags } from "../../tools/dev/stack/service.ts";

test("DynamoDB Local listens on loopback only, and says why it has ended", async () => {
  const local = await startDynamoDbLocal();
  const others = Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family, internal }) => family === "IPv4" && !internal);
  for (const { address } of others) {
    await expect(fetch(`http://${address}:${local.port}`)).rejects.toThrow();
  }
  await local.killHard();
  expect(await local.exited).toMatch(/^SIGKILL\n[\s\S]*Initializing DynamoDB Local/);
});

test("DynamoDB Local does not start on a port on which another server answers", async () => {
  const other = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await expect(startDynamoDbLocal({ port })).rejects.toThrow("Address already in use");
  other.close();
});

test("processes get the flags of their npm scripts", () => {
  expect(nodeFlags("src/worker.ts")).toContain("--max-semi-space-size=2");
  expect(nodeFlags("src/ops/setup.ts")).toEqual([]);
});
