/** Tests the client against servers that refuse streams, stop, hang or fail. */
import { constants } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, expect, test } from "vitest";
import {
  createMeguri,
  type Meguri,
  type MeguriOptions,
  reasonOf,
} from "../../packages/client/src/index.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import type { Reason } from "../../src/platform/words/reasons.ts";
import { patience } from "../support/fixtures/waiting.ts";
import { type ScriptedServer, startScripted } from "./scripted-server.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(...args: Parameters<typeof startScripted>): Promise<ScriptedServer> {
  const server = await startScripted(...args);
  cleanups.push(() => server.stop());
  return server;
}

function clientOf(servers: readonly { readonly url: string }[], more?: Partial<MeguriOptions>) {
  const client = createMeguri({ url: servers.map(({ url }) => url), caller: "tests", ...more });
  cleanups.push(() => client.close());
  return client;
}

/** Meguri's own error. */
function failure(code: Code, reason: Reason, retryDelayMs?: number): ConnectError {
  const info = { domain: "meguri", reason };
  return new ConnectError(reason, code, undefined, [
    { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, info) },
    ...(retryDelayMs === undefined
      ? []
      : [{ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(retryDelayMs) } }]),
  ]);
}

const balance = (client: Meguri, userId = "u") => client.points.getBalance({ userId });

/** Refuses streams with REFUSED_STREAM. */
const refuse: ScriptedServer["script"] = (stream) => {
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
  return true;
};

test("a connection serves on after calls whose bodies were refused half-sent", async () => {
  const server = await start();
  server.script = (stream) => {
    const status = { "grpc-status": `${Code.PermissionDenied}` };
    stream.respond({ "content-type": "application/grpc", ...status }, { endStream: true });
    setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
    return true;
  };
  const client = clientOf([server]);
  const large = "u".repeat(60_000);
  // Together more than the 10 MB that a connection of Node may take by default.
  for (let i = 0; i < 12; i += 1) {
    const calls = await Promise.allSettled(
      Array.from({ length: 20 }, () => balance(client, large)),
    );
    for (const call of calls) {
      expect(call).toMatchObject({ reason: { code: Code.PermissionDenied } });
    }
  }
  expect(server.connections()).toBe(1);
});

test("a refused stream moves to another server at once", async () => {
  const servers = [await start(), await start()] as const;
  servers[0].script = refuse;
  const client = clientOf(servers);
  const users = Array.from({ length: 20 }, (_, i) => `u${i}`);
  await Promise.all(users.map((user) => balance(client, user)));
  expect(servers[0].arrived()).toBeGreaterThan(0);
  expect(servers[1].served).toHaveLength(users.length);
});

test("a refused stream is sent once more on the same server if there is no other", async () => {
  const server = await start();
  server.script = (stream, count) => count === 1 && refuse(stream, count);
  await balance(clientOf([server]));
  expect(server.arrived()).toBe(2);
  expect(server.served).toHaveLength(1);
});

test("streams after the last one of a GOAWAY move to another server", async () => {
  const stopping = await start();
  const other = await start();
  const client = clientOf([stopping, other]);
  // Finds an account whose calls go to the first server.
  let user = 0;
  while (stopping.served.length === 0) await balance(client, `u${++user}`);
  const before = other.served.length;
  stopping.script = ({ session, id }) => {
    session?.goaway(constants.NGHTTP2_NO_ERROR, (id as number) - 2);
    return true;
  };
  await balance(client, `u${user}`);
  expect(other.served).toHaveLength(before + 1);
  // The next calls do not even try the server that stops.
  const arrived = stopping.arrived();
  await balance(client, `u${user}`);
  expect(stopping.arrived()).toBe(arrived);
});

test("calls go to the next server while theirs is down, and come back", async () => {
  const servers = [await start(), await start()] as const;
  const client = clientOf(servers);
  let user = 0;
  while (servers[0].served.length === 0) await balance(client, `u${++user}`);
  await servers[0].stop();
  const before = servers[1].served.length;
  await balance(client, `u${user}`);
  await balance(client, `u${user}`);
  expect(servers[1].served).toHaveLength(before + 2);
  const back = await start(undefined, servers[0].port);
  await expect
    .poll(async () => {
      await balance(client, `u${user}`);
      return back.served.length;
    }, patience)
    .toBeGreaterThan(0);
});

test("a connection that breaks during a call is tried again", async () => {
  const server = await start();
  server.script = ({ session }, count) => {
    if (count === 2) session?.destroy();
    return count === 2;
  };
  const client = clientOf([server]);
  await balance(client);
  await balance(client);
  expect(server.connections()).toBe(2);
});

test("a server that does not answer costs half of the time", async () => {
  const servers = [await start(), await start()] as const;
  const client = clientOf(servers, { timeoutMs: 4_000 });
  let hangs = 0;
  for (const server of servers) {
    server.script = () => {
      hangs += 1;
      return hangs === 1;
    };
  }
  await balance(client);
  expect(hangs).toBe(2);
});

test("a refusal is not sent again", async () => {
  let calls = 0;
  const server = await start({
    usePoints() {
      calls += 1;
      throw failure(Code.FailedPrecondition, "INSUFFICIENT_POINTS");
    },
  });
  const call = clientOf([server]).points.usePoints({ userId: "u", eventId: "e", points: 1n });
  const error = await call.catch((reason: unknown) => reason);
  expect(reasonOf(error)).toBe("INSUFFICIENT_POINTS");
  expect(calls).toBe(1);
});

test("INTERNAL from a server is not sent again", async () => {
  let calls = 0;
  const server = await start({
    getBalance() {
      calls += 1;
      throw new ConnectError("internal error", Code.Internal);
    },
  });
  await expect(balance(clientOf([server]))).rejects.toMatchObject({ code: Code.Internal });
  expect(calls).toBe(1);
});

test("an error with RetryInfo is sent again after its delay, within the deadline", async () => {
  const times: number[] = [];
  const delaysMs = [300, undefined, 60_000];
  const server = await start({
    getBalance() {
      const delayMs = delaysMs[times.push(performance.now()) - 1];
      if (delayMs !== undefined) throw failure(Code.Aborted, "CONTENDED", delayMs);
      return {};
    },
  });
  const client = clientOf([server]);
  await balance(client);
  expect((times[1] as number) - (times[0] as number)).toBeGreaterThanOrEqual(299);
  // A deadline before the delay leaves no time for another try.
  const error = await client.points
    .getBalance({ userId: "u" }, { timeoutMs: 30_000 })
    .catch((reason: unknown) => reason);
  expect(reasonOf(error)).toBe("CONTENDED");
  expect(times).toHaveLength(3);
});

test("a call is not sent again after its signal", async () => {
  const controller = new AbortController();
  let calls = 0;
  const server = await start({
    getBalance() {
      calls += 1;
      controller.abort();
      throw failure(Code.Unavailable, "STORE_UNAVAILABLE", 1);
    },
  });
  const call = clientOf([server]).points.getBalance({ userId: "u" }, { signal: controller.signal });
  await expect(call).rejects.toMatchObject({ code: Code.Canceled });
  expect(calls).toBe(1);
});

test("a dead server gets no more tries than the budget allows", async () => {
  let calls = 0;
  const server = await start({
    getBalance() {
      calls += 1;
      throw failure(Code.Unavailable, "STORE_UNAVAILABLE", 1);
    },
  });
  const client = clientOf([server]);
  const count = 100;
  const all = Array.from({ length: count }, () => balance(client));
  // On a busy machine the deadline may come during the last try.
  const ends = await Promise.all(
    all.map((call) => call.catch((error) => reasonOf(error) ?? error.code)),
  );
  expect(["STORE_UNAVAILABLE", Code.DeadlineExceeded]).toEqual(expect.arrayContaining(ends));
  // 100 retries at once, and 10 more a second until the deadline.
  expect(calls).toBeGreaterThan(count);
  expect(calls).toBeLessThanOrEqual(count + 100 + 10 * 10);
});

test("calls have the caller, the key and the deadline in their headers", async () => {
  const server = await start();
  const client = clientOf([server]);
  await balance(client, "aoi");
  await client.points.getBalance({ userId: "aoi" }, { headers: { "meguri-key": "mine" } });
  expect(server.served[0]).toMatchObject({
    "meguri-caller": "tests",
    "meguri-key": "a/default/aoi",
    "grpc-timeout": "5000m",
  });
  expect(server.served[1]).toMatchObject({ "meguri-caller": "tests", "meguri-key": "mine" });
});

test("a rejected token is replaced once in a call, by one request for all calls", async () => {
  const seen: (string | null)[] = [];
  const server = await start({
    getBalance(_, { requestHeader }) {
      seen.push(requestHeader.get("authorization"));
      if (requestHeader.get("authorization") === "Bearer new") return {};
      throw failure(Code.Unauthenticated, "UNAUTHENTICATED");
    },
  });
  const tokens = ["old", "new", "bad", "bad"];
  const token = () => tokens.shift() as string;
  const client = clientOf([server], { token });
  await Promise.all([balance(client), balance(client)]);
  expect(new Set(seen)).toEqual(new Set(["Bearer old", "Bearer new"]));
  expect(tokens).toEqual(["bad", "bad"]);

  const second = clientOf([server], { token });
  await expect(balance(second)).rejects.toMatchObject({ code: Code.Unauthenticated });
  expect(tokens).toEqual([]);
});

test("calls without a server fail as UNAVAILABLE", async () => {
  const server = await start();
  await server.stop();
  const call = clientOf([server], { timeoutMs: 300 }).points.getBalance({ userId: "u" });
  await expect(call).rejects.toMatchObject({ code: Code.Unavailable });
});
