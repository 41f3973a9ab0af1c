/** Runs `meguri doctor` against a server that serves, and with what a caller can get wrong. */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../../packages/cli/src/run.ts";
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
  const { code, failed } = await doctor({ MEGURI_URL: "http://127.0.0.1:1" });
  expect({ code, failed }).toMatchObject({
    code: 1,
    failed: { "server http://127.0.0.1:1": expect.stringContaining("MEGURI_URL") },
  });
});

test("a token that is refused is named", async () => {
  const { failed } = await doctor({ MEGURI_CALLER: "a#b" });
  expect(failed).toEqual({ identity: expect.stringContaining("MEGURI_TOKEN") });
});
