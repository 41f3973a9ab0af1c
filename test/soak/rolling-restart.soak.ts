/** Tests that restarts of servers cost the callers of the client nothing. */
import { setTimeout as sleep } from "node:timers/promises";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createMeguri, type Meguri } from "@meguri/client";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { BulkGrant } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { startService } from "../../tools/dev/stack/service.ts";
import { completeCheck } from "../support/fixtures/bulk-grant-calls.ts";
import { patience } from "../support/fixtures/waiting.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { inForm, isLong } from "../support/soak.ts";

const restarts = inForm({ short: 3, long: 8 });
const callers = 16;
const accounts = 8;

/** Owns the tables; the servers that the client calls are processes of their own. */
let tables: TestServer;
let client: Meguri;
let ports: { port: number; http1Port: number }[];
let children: Child[];
beforeAll(async () => {
  tables = await startServer({ testClock: false, dynamoEndpoint: inject("dynamodbEndpoint") });
  const found = await findPorts(0, 0, 0, 0);
  ports = [
    { port: found[0], http1Port: found[1] },
    { port: found[2], http1Port: found[3] },
  ];
  children = await Promise.all(ports.map(start));
  client = createMeguri({
    url: ports.map(({ port }) => `http://127.0.0.1:${port}`),
    caller: "tests",
    // Long enough for a machine that is busy with other tests.
    timeoutMs: 60_000,
  });
});
afterAll(async () => {
  client.close();
  await Promise.all(children.map((child) => child.killHard()));
  await tables.stop();
});

const start = ({ port, http1Port }: { port: number; http1Port: number }): Promise<Child> =>
  startService({
    name: "server",
    entry: "src/server.ts",
    env: {
      MEGURI_PORT: String(port),
      MEGURI_HTTP1_PORT: String(http1Port),
      MEGURI_OPERATORS_PORT: "0",
      MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"),
      MEGURI_TABLE_PREFIX: tables.config.tablePrefix,
      // No server listens there; no call of this test needs Temporal.
      MEGURI_TEMPORAL_ADDRESS: "127.0.0.1:1",
      MEGURI_DRAIN_SECONDS: "1",
    },
  });

/** Restarts the servers in turns. The last two restarts are crashes. */
async function restartAll(): Promise<void> {
  for (let i = 0; i < restarts; i++) {
    const at = i % ports.length;
    const child = children[at] as Child;
    if (i < restarts - 2) await child.stop();
    else await child.killHard();
    children[at] = await start(ports[at] as { port: number; http1Port: number });
  }
}

/** Grants one point after the other, until the restarts are over. Returns how many. */
async function grantUntil(caller: number, isOver: () => boolean): Promise<number> {
  let count = 0;
  while (!isOver()) {
    await client.points.grantPoints({
      userId: `u${caller % accounts}`,
      eventId: `${caller}-${count}`,
      points: 1n,
    });
    count += 1;
    await sleep(500);
  }
  return count;
}

async function ledgerOf(userId: string): Promise<string[]> {
  const ids: string[] = [];
  let pageToken = "";
  do {
    const page = await tables.points.listLedgerEntries({ userId, pageSize: 100, pageToken });
    ids.push(...page.entries.map(({ event }) => event?.eventId ?? ""));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return ids;
}

/**
 * Likes a target of the owner as one person after the other, each when the last one is seen. Each
 * like is followed by a comment of one person, of whom only the first one changes a number.
 */
async function likeUntil(isOver: () => boolean): Promise<{ seen: bigint[]; likes: number }> {
  await client.reactions.registerTarget({ targetName: { type: "post", id: "p" }, ownerId: "aoi" });
  const seen: bigint[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  const watching = (async () => {
    for await (const { unreadCount } of client.watchUnreadCounts([{ ownerId: "aoi" }], { signal }))
      seen.push(unreadCount?.actorCount ?? -1n);
  })().catch((error: unknown) => error);
  let likes = 0;
  await expect.poll(() => seen, patience).toHaveLength(1);
  while (!isOver()) {
    likes += 1;
    const target = { type: "post", id: "p" };
    await client.reactions.react({
      targetName: target,
      userId: `fan-${likes}`,
      displayName: "Fan",
    });
    await expect.poll(() => seen.length, patience).toBe(2 * likes);
    const comment = { targetName: target, kind: "comment", userId: "gus" };
    await client.notifications.notify({ ...comment, eventId: `${likes}` });
    await expect.poll(() => seen.length, patience).toBe(2 * likes + 1);
  }
  controller.abort();
  await watching;
  return { seen, likes };
}

/** Pauses and resumes an approved bulk grant, each time when the last change is seen. */
async function pauseUntil(isOver: () => boolean): Promise<{ seen: boolean[]; changes: number }> {
  const name = { bulkGrantId: "campaign" };
  const executeTime = timestampFromMs(Date.now() + 3_600_000);
  const rows = [{ userId: "u", points: 1n }];
  await client.uploadBulkGrant({ ...name, executeTime }, { rows });
  const { digest } = await completeCheck(tables, name.bulkGrantId);
  await tables.clientsOf("approver").bulkGrants.approveBulkGrant({ ...name, digest });
  const seen: boolean[] = [];
  const watching = (async () => {
    for await (const { bulkGrant } of client.watchBulkGrant(name)) seen.push(isPaused(bulkGrant));
  })();
  let changes = 0;
  await expect.poll(() => seen, patience).toHaveLength(1);
  while (!isOver()) {
    if (changes++ % 2 === 0) await client.bulkGrants.pauseBulkGrant(name);
    else await client.bulkGrants.resumeBulkGrant(name);
    await expect.poll(() => seen.length, patience).toBe(changes + 1);
  }
  await client.bulkGrants.cancelBulkGrant(name);
  await watching;
  return { seen, changes };
}

const isPaused = (bulkGrant: BulkGrant | undefined): boolean => bulkGrant?.pause !== undefined;

test("restarts under 16 callers: no call fails or is done twice, streams resume", async () => {
  let isOver = false;
  const restarted = restartAll().finally(() => {
    isOver = true;
  });
  const [counts, likes, pauses] = await Promise.all([
    Promise.all(Array.from({ length: callers }, (_, i) => grantUntil(i, () => isOver))),
    likeUntil(() => isOver),
    pauseUntil(() => isOver),
    restarted,
  ]);

  const expected = counts.flatMap((count, caller) =>
    Array.from({ length: count }, (_, i) => `${caller}-${i}`),
  );
  const users = Array.from({ length: accounts }, (_, i) => `u${i}`);
  const ledgers = await Promise.all(users.map(ledgerOf));
  expect(ledgers.flat().sort()).toEqual(expected.sort());
  // How many calls meet a restart depends on the machine.
  if (isLong) expect(expected.length).toBeGreaterThan(callers * restarts);

  // The numbers of people after each like and each comment, none of them twice.
  const people = Array.from({ length: likes.likes }, (_, i) => [i === 0 ? 1 : i + 2, i + 2]);
  expect(likes.seen).toEqual([0, ...people.flat()].map(BigInt));
  expect(pauses.seen.slice(0, -1)).toEqual(
    Array.from({ length: pauses.changes + 1 }, (_, i) => i % 2 === 1),
  );
});
