/** Tests what commands that follow changes say when no server answers, at first and later. */
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../../packages/cli/src/run.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";
import { startTcpProxy, type TcpProxy } from "../support/servers/tcp-proxy.ts";

let server: MemoryServer;
let proxy: TcpProxy;

beforeAll(async () => {
  server = await startMemoryServer();
  proxy = await startTcpProxy(server.port);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

/** Starts a command that calls through the proxy, and keeps what it prints. */
function start(...argv: string[]) {
  const printed = { stdout: "", stderr: "" };
  const stopping = new AbortController();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  stdout.on("data", (text) => {
    printed.stdout += text;
  });
  stderr.on("data", (text) => {
    printed.stderr += text;
  });
  const env = { MEGURI_URL: `http://127.0.0.1:${proxy.port}`, MEGURI_CALLER: "rin" };
  const { signal } = stopping;
  const io = { stdin: new PassThrough(), stdout, stderr, env, signal };
  return { printed, done: run([...argv, "--timeout", "1"], io), stop: () => stopping.abort() };
}

test.each([
  "notifications alice --watch",
  "events tail",
  "events tail --no-follow",
  "bulk watch spring",
])("a server that has never answered ends %s", async (line) => {
  proxy.cut();
  const { done, printed } = start(...line.split(" "));
  expect(await done).toBe(5);
  expect(printed.stderr).toContain(`Server: http://127.0.0.1:${proxy.port}`);
});

test("a watch says that its server has gone, once, and goes on when it is back", async () => {
  proxy.restore();
  const { done, printed, stop } = start("notifications", "alice", "--watch");
  await eventually(async () => expect(printed.stdout).not.toBe(""));
  const before = printed.stdout;
  proxy.cut();
  await eventually(async () => expect(printed.stderr).toContain("trying again"));
  proxy.restore();
  await server.notifications.notify({
    eventId: "e",
    kind: "hello",
    ownerIds: ["alice"],
    displayName: "x",
  });
  await eventually(async () => expect(printed.stdout.length).toBeGreaterThan(before.length));
  expect(printed.stderr.match(/no answer from/g)).toHaveLength(1);
  stop();
  await done;
});
