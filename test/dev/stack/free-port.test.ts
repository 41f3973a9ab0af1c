/** Tests which ports are found, by one stack and by several, and what happens to a lost one. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { findPorts, retryLostPorts } from "../../../tools/dev/stack/free-port.ts";

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

test("a preferred port that one stack has found is not found by another one", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const [first] = await findPorts(port);
  const [second] = await findPorts(port);
  expect(second).toBeGreaterThan(first);
});

test("a start that lost its port to another program is tried again", async () => {
  const ends = ["java.net.BindException: Address already in use", "listen: address already in use"];
  const start = async () => {
    const end = ends.shift();
    if (end) throw new Error(end);
    return "started";
  };
  expect(await retryLostPorts(start)).toBe("started");
  await expect(retryLostPorts(() => Promise.reject(new Error("killed")))).rejects.toThrow("killed");
});
