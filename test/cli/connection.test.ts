/** Tests how the command names its caller to a server, by a server that keeps the headers. */
import { once } from "node:events";
import { createServer, type Http2Server, type IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../../packages/cli/src/run.ts";

let server: Http2Server;
let received: IncomingHttpHeaders[] = [];
beforeAll(async () => {
  server = createServer();
  server.on("stream", (stream, headers) => {
    received.push(headers);
    const unauthenticated = { "content-type": "application/grpc", "grpc-status": "16" };
    stream.respond({ ":status": 200, ...unauthenticated }, { endStream: true });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => server.close());

/** The headers of the call of `meguri balance alice`, its exit code and its messages. */
async function balance(variables: Record<string, string>, ...options: string[]) {
  received = [];
  const stderr = new PassThrough();
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { signal } = new AbortController();
  const io = { ...streams, env: { MEGURI_URL: url, ...variables }, signal };
  const code = await run(["balance", "alice", ...options], io);
  const [headers = {}] = received;
  const identity = { token: headers.authorization, caller: headers["meguri-caller"] };
  return { code, ...identity, messages: String(stderr.read()) };
}

test("a wrong scheme is a wrong argument, which no repetition mends", async () => {
  const { port } = server.address() as AddressInfo;
  const { code, messages } = await balance({ MEGURI_URL: `https://127.0.0.1:${port}` });
  expect(code).toBe(2);
  expect(messages).toContain("this server speaks no TLS, so its URL begins with http://");
  expect(messages).not.toContain("repeat");
});

test.each([
  [{ MEGURI_URL: "127.0.0.1:8080" }, "url: 127.0.0.1:8080 does not begin with http:// or https://"],
  [{ MEGURI_CALLER: "三日" }, "caller: only visible ASCII fits in a header"],
  [{ MEGURI_TOKEN: "秘密" }, "token: only visible ASCII fits in a header"],
])("%j is a wrong argument, and nothing is sent", async (variables, text) => {
  const { code, messages } = await balance(variables);
  expect({ code, received }).toEqual({ code: 2, received: [] });
  expect(messages).toContain(`meguri: USAGE: ${text}\n`);
});

test.each([{}, { MEGURI_CALLER: "", MEGURI_TOKEN: "", MEGURI_CA_FILE: "" }])(
  "with %j the caller is cli",
  async (variables) => {
    const { messages, ...sent } = await balance(variables);
    expect(sent).toMatchObject({ code: 4, token: undefined, caller: "cli" });
    expect(messages).toContain("where callers are not verified, MEGURI_CALLER to a name");
  },
);

test("MEGURI_CALLER names the caller, and an option comes first", async () => {
  expect(await balance({ MEGURI_CALLER: "mika" })).toMatchObject({ caller: "mika" });
  const options = ["--caller", "rin"];
  expect(await balance({ MEGURI_CALLER: "mika" }, ...options)).toMatchObject({ caller: "rin" });
});

test("with a token no other name is sent, and no message has the token", async () => {
  const sent = await balance({ MEGURI_TOKEN: "secret", MEGURI_CALLER: "mika" });
  expect(sent).toMatchObject({ code: 4, token: "Bearer secret", caller: undefined });
  expect(sent.messages).toMatch(/^meguri: UNAUTHENTICATED: .*\nSet MEGURI_TOKEN to a valid token/);
  expect(sent.messages).not.toContain("secret");
  expect(await balance({}, "--token", "other")).toMatchObject({ token: "Bearer other" });
});
