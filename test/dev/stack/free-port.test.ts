/** Tests that a port of a process which is killed and started again is not found meanwhile. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { findPorts } from "../../../src/dev/stack/free-port.ts";

vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof import("node:crypto")>();
  return { ...crypto, randomInt: vi.fn(crypto.randomInt) };
});

test("a port that was found is free for a server, but is not found once more", async () => {
  const [port] = await findPorts(0);
  // The server that has it does not run just now.
  vi.mocked(randomInt).mockImplementationOnce(() => port);
  expect(await findPorts(0)).not.toContain(port);
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  server.close();
});
