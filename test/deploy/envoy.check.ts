/** Checks the recipe for Envoy by a real one: to which servers it sends calls. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Http2SessionManager } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMeguri } from "../../packages/client/src/index.ts";
import { type Envoy, recipeFile, startEnvoy } from "../support/deploy/envoy.ts";
import { findPythonTool } from "../support/deploy/python-tools.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import {
  type Clients,
  connect,
  type MemoryServer,
  startMemoryServer,
} from "../support/servers/server.ts";

/** Servers whose stores are apart, so that an account shows which server has got its calls. */
let servers: MemoryServer[];
let envoys: Envoy[];
beforeAll(async () => {
  const drain = { MEGURI_DRAIN_SECONDS: "30" };
  servers = await Promise.all([1, 2, 3].map(() => startMemoryServer(drain)));
  const ports = servers.map(({ port }) => port);
  envoys = await Promise.all([1, 2].map(() => startEnvoy(ports)));
});
afterAll(async () => {
  await Promise.all((envoys ?? []).map((each) => each.stop()));
  await Promise.all((servers ?? []).map((each) => each.stop()));
});

const users = Array.from({ length: 60 }, (_, index) => `user-${index}`);

/** Grants a point to each user through an Envoy, by the client package. */
async function grantAll({ port }: Envoy, eventId: string): Promise<void> {
  const meguri = createMeguri({ url: `http://127.0.0.1:${port}`, caller: "shop" });
  await Promise.all(
    users.map((userId) => meguri.points.grantPoints({ userId, eventId, points: 1n })),
  );
  meguri.close();
}

/** What each server has granted to each user. */
const balances = async (of: readonly MemoryServer[]): Promise<bigint[][]> =>
  await Promise.all(
    users.map((userId) =>
      Promise.all(
        of.map(async ({ points }) => {
          const { balance } = await points.getBalance({ userId });
          return balance?.availablePoints ?? 0n;
        }),
      ),
    ),
  );

/** The number of the server with the calls of each user. */
const homesOf = (rows: readonly bigint[][], calls: bigint) =>
  rows.map((each) => each.indexOf(calls));

test("Envoy accepts the recipe", async () => {
  const envoy = await findPythonTool("envoy");
  const args = ["--mode", "validate", "--config-path", recipeFile];
  const { stdout, stderr } = await promisify(execFile)(envoy, args);
  expect(stdout + stderr).toContain("OK");
  expect(stdout + stderr).not.toMatch(/deprecated|unknown field/i);
});

test("calls with one key go to one server, by every Envoy, and keys are spread", async () => {
  const [first, second] = envoys as [Envoy, Envoy];
  await grantAll(first, "event-1");
  await grantAll(second, "event-2");
  const homes = homesOf(await balances(servers), 2n);
  expect(homes).not.toContain(-1);
  expect(new Set(homes).size).toBe(servers.length);
});

test("calls by HTTP/1.1 come through the same port, to the server of their key", async () => {
  const [{ port }] = envoys as [Envoy];
  const grant = async (userId: string, eventId: string) => {
    const body = JSON.stringify({ userId, eventId, points: "1" });
    const headers = { "meguri-caller": "shop", "meguri-key": `a/default/${userId}` };
    const { ok } = await fetch(
      `http://127.0.0.1:${port}/meguri.points.v1.PointsService/GrantPoints`,
      { method: "POST", headers: { ...headers, "content-type": "application/json" }, body },
    );
    return ok;
  };
  expect(await Promise.all(users.map((userId) => grant(userId, "event-3")))).not.toContain(false);
  expect(homesOf(await balances(servers), 3n)).not.toContain(-1);
});

/** Grants by gRPC alone: unlike the client package, it sends no failed call again. */
async function grantOnce(points: Clients["points"], eventId: string) {
  const results = await Promise.allSettled(
    users.map((userId) => {
      const headers = { "meguri-key": `a/default/${userId}` };
      return points.grantPoints({ userId, eventId, points: 1n }, { headers });
    }),
  );
  return results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
}

/** The server of each user, found by one more grant. */
async function findHomes(of: readonly MemoryServer[], envoy: Envoy, eventId: string) {
  const before = await balances(of);
  await grantAll(envoy, eventId);
  const after = await balances(of);
  return after.map((row, user) => row.findIndex((each, server) => each !== before[user]?.[server]));
}

test("a server that stops fails no call, and most keys of the other servers stay", async () => {
  const [first, second] = envoys as [Envoy, Envoy];
  const homes = await findHomes(servers, first, "event-4");
  const sessions = new Http2SessionManager(`http://127.0.0.1:${first.port}`);
  const { points } = connect(sessions, first.port, "shop");
  let stopped = false;
  const stop = servers
    .pop()
    ?.stop()
    .then(() => {
      stopped = true;
    });
  const failures: unknown[] = [];
  for (let round = 0; !stopped; round++) {
    failures.push(...(await grantOnce(points, `round-${round}`)));
  }
  await stop;
  sessions.abort();
  expect(failures).toEqual([]);
  await eventually(async () => expect(await second.healthyServers()).toBe(2));
  const taken = await findHomes(servers, second, "event-5");
  expect(taken).not.toContain(-1);
  // The ring has more places of each server when there are fewer, so a few other keys move as well.
  const others = homes.filter((home) => home < 2).length;
  const kept = taken.filter((server, user) => server === homes[user]).length;
  expect(kept).toBeGreaterThan(others / 2);
});

test("calls that reach no server are sent to another one", async () => {
  const drain = { MEGURI_DRAIN_SECONDS: "0" };
  const two = await Promise.all([1, 2].map(() => startMemoryServer(drain)));
  const envoy = await startEnvoy(two.map(({ port }) => port));
  const sessions = new Http2SessionManager(`http://127.0.0.1:${envoy.port}`);
  const { points } = connect(sessions, envoy.port, "shop");
  try {
    expect(await grantOnce(points, "event-1")).toEqual([]);
    await two.pop()?.stop();
    expect(await grantOnce(points, "event-2")).toEqual([]);
  } finally {
    sessions.abort();
    await envoy.stop();
    await two.pop()?.stop();
  }
});
