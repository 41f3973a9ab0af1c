/** Runs `meguri doctor` against a server that serves, and with what a caller can get wrong. */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { run } from "../../packages/cli/src/run.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus,
} from "../../src/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { createListeners } from "../../src/platform/edge/listeners.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";

let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer({ testClock: false });
  env = { MEGURI_URL: `http://127.0.0.1:${server.port}` };
});
afterAll(() => server?.stop());

/** The exit code, and what failed by the name of its check. */
async function doctor(variables: Record<string, string> = {}) {
  const stdout = new PassThrough();
  const { signal } = new AbortController();
  const io = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), signal };
  const code = await run(["doctor", "--json"], { ...io, env: { ...env, ...variables } });
  stdout.end();
  const lines = (await text(stdout)).trim().split("\n");
  const checks = lines.map((line) => JSON.parse(line));
  const failed = checks.filter(({ ok }) => !ok);
  return {
    code,
    names: checks.map(({ check }) => check),
    failed: Object.fromEntries(failed.map(({ check, found, advice }) => [check, found + advice])),
  };
}

test("a connection that is right passes", async () => {
  const { names, ...rest } = await doctor();
  expect(rest).toEqual({ code: 0, failed: {} });
  expect(names).toEqual(["versions", `server ${env.MEGURI_URL}`, "contract", "clock", "identity"]);
});

test("a server that is away is named", async () => {
  const away = { MEGURI_URL: "http://127.0.0.1:1" };
  // Each look at the clock is half a second later, so that ten seconds of tries are soon over.
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    aheadMs += 500;
    return now() + aheadMs;
  });
  onTestFinished(() => clock.mockRestore());
  const { code, failed } = await doctor(away);
  expect({ code, failed }).toMatchObject({
    code: 1,
    failed: {
      "server http://127.0.0.1:1": expect.stringContaining("MEGURI_URL"),
      contract: expect.stringContaining("no server has answered"),
      clock: expect.stringContaining("no server has answered"),
      identity: expect.stringContaining("no server has answered"),
    },
  });
});

test.each([
  ["times out", Code.DeadlineExceeded, ["contract", "identity"]],
  ["serves no reflection", Code.Unimplemented, ["identity"]],
])("of a server that %s, what could not be checked is not all right", async (_, code, names) => {
  const status = HealthCheckResponse_ServingStatus.SERVING;
  const listeners = createListeners({
    corsOrigins: [],
    routes: (router) => {
      router.service(Health, { check: () => ({ status }) });
      router.service(ServerReflection, {
        // biome-ignore lint/correctness/useYield: it throws instead.
        async *serverReflectionInfo() {
          throw new ConnectError("the operation timed out", code);
        },
      });
    },
  });
  const { port } = await listeners.listen("127.0.0.1", { port: 0, http1Port: 0 });
  const { failed } = await doctor({ MEGURI_URL: `http://127.0.0.1:${port}` });
  expect(Object.keys(failed)).toEqual(names);
  await listeners.drain(1_000);
});

test("a token that is refused is named", async () => {
  const { failed } = await doctor({ MEGURI_CALLER: "a#b" });
  expect(failed).toEqual({ identity: expect.stringContaining("MEGURI_TOKEN") });
});
