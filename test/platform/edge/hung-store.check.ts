/**
 * Tests calls while the store takes requests and does not answer: they are STORE_UNAVAILABLE long
 * before the server's own limit of ten seconds, and each takes effect once when it is sent again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import {
  type DynamoProxy,
  type FaultPlan,
  startDynamoProxy,
} from "../../../tools/dynamo-proxy/proxy.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

const never = 600_000;

/** How a store hangs: the request never arrives, its answer is not sent, or only half of it. */
const hangs: Record<string, FaultPlan> = {
  "before the request": { delay: 1, delayMs: [never, never] },
  "before the answer": { lostAnswer: 1, lostBy: "silence" },
  "within the answer": { lostAnswer: 1, lostBy: "stall" },
};

let proxy: DynamoProxy;
let server: TestServer;
beforeAll(async () => {
  proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
  server = await startServer({ testClock: false, dynamoEndpoint: proxy.endpoint });
  await server.reactions.registerTarget({ targetName: target, ownerId: "owner" });
});
afterEach(() => proxy.faults({}));
afterAll(async () => {
  await server.stop();
  await proxy.stop();
});

const target = { type: "post", id: "1" };
const points = 1n;
const executeTime = at("2030-01-01T00:00:00Z");

/** The balance and the events of a user, once the store answers again. */
async function accountOf(userId: string) {
  const { balance } = await server.points.getBalance({ userId });
  const { entries } = await server.points.listLedgerEntries({ userId });
  const ids = entries.map(({ event }) => event?.eventId);
  return { available: balance?.availablePoints, ids: ids.sort() };
}

/**
 * Waits for the limit of a call without a deadline, in steps, so that a pause of this process, in
 * which the server cannot answer either, counts for one step only.
 */
async function runsOutOfTime(signal: AbortSignal): Promise<void> {
  for (let ms = 0; ms < 10_000 && !signal.aborted; ms += 100) await sleep(100);
}

describe.each(Object.entries(hangs))("a store that hangs %s", (kind, plan) => {
  const userId = kind.replaceAll(" ", "-");
  const grant = (eventId: string) => server.points.grantPoints({ userId, eventId, points });

  test("ends every kind of call as STORE_UNAVAILABLE", async () => {
    await grant("warm");
    proxy.faults(plan);
    const calls = {
      "a cached account": grant("a"),
      "a call behind it": grant("b"),
      "another call behind it": server.points.usePoints({ userId, eventId: "c", points }),
      "an account that has to be read": server.points.grantPoints({
        userId: `${userId}-cold`,
        eventId: "a",
        points,
      }),
      "a read": server.points.getBalance({ userId }),
      "a query": server.points.listLedgerEntries({ userId }),
      "a program that has to be read": server.points.getBalance({ userId, programId: userId }),
      "a reservation": server.reservations.createReservation({
        reservationId: userId,
        userId,
        points,
        executeTime,
      }),
      "a like": server.reactions.react({ targetName: target, userId, displayName: "U" }),
      "an unread count": server.notifications.getUnreadCount({ ownerId: "owner" }),
    };
    const refusals = Object.entries(calls).map(async ([name, call]) => {
      expect(await refusalOf(call), name).toMatchObject({
        code: "Unavailable",
        reason: "STORE_UNAVAILABLE",
        retries: true,
      });
    });
    const calling = new AbortController();
    const first = Promise.race([
      Promise.all(refusals).then(() => "all are refused"),
      runsOutOfTime(calling.signal).then(() => "the limit of a call"),
    ]);
    expect(await first).toBe("all are refused");
    calling.abort();

    proxy.faults({});
    // A request that was sent before may keep the account for a moment.
    for (const id of ["a", "b"]) {
      const again = () =>
        grant(id).then(
          () => true,
          () => false,
        );
      await expect.poll(again).toBe(true);
    }
    await server.points.usePoints({ userId, eventId: "c", points });
    const { available, ids } = await accountOf(userId);
    expect({ available, ids }).toEqual({ available: 2n, ids: ["a", "b", "c", "warm"] });
  });

  test("ends a call with a deadline before it, with the reason", async () => {
    const user = `${userId}-deadline`;
    await server.points.grantPoints({ userId: user, eventId: "warm", points });
    proxy.faults(plan);
    // Only the server knows the deadline: a client would end the call itself, too.
    const client = createClient(
      PointsService,
      createConnectTransport({
        baseUrl: `http://127.0.0.1:${server.http1Port}`,
        httpVersion: "1.1",
      }),
    );
    const headers = { "meguri-caller": "tests", "connect-timeout-ms": "1000" };
    const account = { userId: user };
    const calls = {
      "a commit": client.grantPoints({ ...account, eventId: "a", points }, { headers }),
      "a call behind it": client.grantPoints({ ...account, eventId: "b", points }, { headers }),
      "a read": client.getBalance(account, { headers }),
      "a query": client.listLedgerEntries(account, { headers }),
    };
    const refusals = Object.entries(calls).map(async ([name, call]) => {
      expect((await refusalOf(call)).reason, name).toBe("STORE_UNAVAILABLE");
    });
    await Promise.all(refusals);
    // A longer one is not waited for: this call, sent later, has no answer yet.
    const patient = client.getBalance(account, { headers: { "meguri-caller": "tests" } });
    const first = refusalOf(client.getBalance(account, { headers })).then(() => "deadline");
    expect(await Promise.race([first, patient.catch(() => "patience")])).toBe("deadline");
    await patient.catch(() => undefined);
  });
});

test("a store that hangs for reads only ends reads while it answers writes", async () => {
  const grant = (eventId: string) =>
    server.points.grantPoints({ userId: "writing", eventId, points });
  await grant("warm");
  proxy.faults({ delay: 1, delayMs: [never, never], operations: "reads" });
  let isWriting = true;
  let grants = 0;
  const writing = (async () => {
    for (let i = 0; isWriting; i++) {
      // One that has to read, such as its program, hangs as well.
      await grant(`e${i}`).then(
        () => (grants += 1),
        () => undefined,
      );
    }
  })();
  const reads = {
    "a balance": server.points.getBalance({ userId: "reading" }),
    "a ledger": server.points.listLedgerEntries({ userId: "reading" }),
  };
  // Side by side, because either of them may be refused first.
  const refusals = Object.entries(reads).map(async ([name, read]) => {
    expect((await refusalOf(read)).reason, name).toBe("STORE_UNAVAILABLE");
  });
  try {
    await Promise.all(refusals);
  } finally {
    isWriting = false;
    await writing;
  }
  expect(grants).toBeGreaterThan(10);
});
