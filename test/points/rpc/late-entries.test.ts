/** Tests what servers answer about an instant while the network holds a write of this instant. */
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

const minute = 60_000;

let proxy: DynamoProxy;
let server: TestServer;
/** A server whose network the proxy can hold. */
let cutOff: TestServer;
beforeAll(async () => {
  const dynamoEndpoint = inject("dynamodbEndpoint");
  proxy = await startDynamoProxy({ upstream: dynamoEndpoint });
  server = await startServer({ dynamoEndpoint });
  const { tablePrefix } = server.config;
  cutOff = await startServer({ dynamoEndpoint: proxy.endpoint, tablePrefix });
});
let isCutOffStopped = false;
async function stopCutOff(): Promise<void> {
  if (!isCutOffStopped) await cutOff.stop();
  isCutOffStopped = true;
}
afterAll(async () => {
  await stopCutOff();
  await server.stop();
  await proxy.stop();
});

/** Lets the server that is cut off send a grant and give it up. Returns how to let it arrive. */
async function sendGrant(userId: string) {
  const release = proxy.holdWrites();
  const sent = () => proxy.stats().requests.TransactWriteItems ?? 0;
  const before = sent();
  const granted = cutOff.points.grantPoints({ userId, eventId: "e", points: 7n });
  await expect(granted).rejects.toMatchObject({ code: Code.Unavailable });
  expect(sent()).toBeGreaterThan(before);
  return async (passedMs: number) => {
    release(passedMs);
    await eventually(async () => expect(proxy.stats().underWay).toBe(0));
  };
}

const now = async () => timestampMs((await server.clock.getTime({})).time ?? timestampFromMs(0));

/** The balance at an instant, and whether it is final. */
async function asOf(userId: string, time: number) {
  const { balance, final } = await server.points.getBalance({
    userId,
    asOf: timestampFromMs(time),
  });
  return [balance?.availablePoints, final];
}

test("what is not final may change for 15 minutes, and says so", async () => {
  const arrive = await sendGrant("slow");
  const time = await now();
  expect(await asOf("slow", time)).toEqual([0n, false]);
  await arrive(14 * minute);
  expect(await asOf("slow", time)).toEqual([7n, false]);
});

test("an instant of an account that has changed later is final at once", async () => {
  const arrive = await sendGrant("changed");
  const time = await now();
  await eventually(async () => expect(await now()).toBeGreaterThan(time));
  await server.points.grantPoints({ userId: "changed", eventId: "later", points: 1n });
  expect(await asOf("changed", time)).toEqual([0n, true]);
  await arrive(0);
  expect(await asOf("changed", time)).toEqual([0n, true]);
});

test("what is final does not change, however late a write arrives", async () => {
  const arrive = await sendGrant("lost");
  const time = await now();
  await server.clock.setTime({ time: timestampFromMs(time + 16 * minute) });
  expect(await asOf("lost", time)).toEqual([0n, true]);
  // Within its 5 s it could send the write once more, with a signature of now.
  await stopCutOff();
  await arrive(16 * minute);
  expect(await asOf("lost", time)).toEqual([0n, true]);
});
