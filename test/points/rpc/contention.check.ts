/** Tests 64 callers on one account through two servers: no change is lost or made twice. */
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Isolation, itemByItem } from "../../../tools/dynamo-proxy/isolation.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { reasonOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

const callers = 64;
const rounds = 6;
const userId = "busy";

/** The isolation of DynamoDB Local, and the one that AWS documents. */
const stores: readonly [string, Isolation | undefined][] = [
  ["transactions applied at one moment", undefined],
  ["transactions applied item by item", itemByItem],
];

/** Calls until there is an answer and returns its points; 0 for a refusal. */
async function pointsOf(call: () => Promise<{ entry?: { points: bigint } | undefined }>) {
  for (;;) {
    const answer = call();
    try {
      return Number((await answer).entry?.points);
    } catch {
      const reason = await reasonOf(answer);
      if (reason === "INSUFFICIENT_POINTS") return 0;
      const transient = ["CONTENDED", "THROTTLED", "STORE_UNAVAILABLE"];
      if (!transient.includes(String(reason))) throw new Error(reason);
    }
  }
}

describe.each(stores)("%s", (_, isolation) => {
  let proxy: DynamoProxy;
  let one: TestServer;
  let two: TestServer;
  beforeAll(async () => {
    proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
    proxy.isolation(isolation);
    const options = { testClock: false, dynamoEndpoint: proxy.endpoint };
    one = await startServer(options);
    two = await startServer({ ...options, tablePrefix: one.config.tablePrefix });
  });
  afterAll(async () => {
    await two.stop();
    await one.stop();
    await proxy.stop();
  });

  test("64 callers with grants and uses", async () => {
    let granted = 0;
    let used = 0;
    let refused = 0;
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        const { points } = caller % 2 ? one : two;
        for (let round = 0; round < rounds; round++) {
          const event = { userId, eventId: `${caller}-${round}` };
          const amount = BigInt(1 + ((caller * 7 + round * 13) % 20));
          if ((caller + round) % 3 === 0) {
            const given = await pointsOf(() => points.grantPoints({ ...event, points: amount }));
            granted += given;
          } else {
            const allowPartial = round % 2 === 0;
            const taken = await pointsOf(() =>
              points.usePoints({ ...event, points: amount, allowPartial }),
            );
            used += taken;
            if (taken === 0) refused += 1;
          }
        }
      }),
    );
    const { balance } = await one.points.getBalance({ userId });
    expect(balance?.totals).toMatchObject({
      issuedPoints: BigInt(granted),
      usedPoints: BigInt(used),
    });
    expect(balance?.availablePoints).toBe(BigInt(granted - used));
    const verified = await two.points.verifyAccount({ userId });
    expect(verified.differences).toEqual([]);
    expect(Number(verified.entryCount)).toBe(callers * rounds - refused);
    // The balance was too small for some uses, so that refusals are tested as well.
    expect(refused).toBeGreaterThan(0);
  });

  test("64 callers for 100 points: exactly ten of them get 10", async () => {
    await one.points.grantPoints({ userId: "prize", eventId: "g", points: 100n });
    const taken = await Promise.all(
      Array.from({ length: callers }, (_, caller) =>
        pointsOf(() =>
          (caller % 2 ? one : two).points.usePoints({
            userId: "prize",
            eventId: `u${caller}`,
            points: 10n,
          }),
        ),
      ),
    );
    expect(taken.filter((points) => points === 10)).toHaveLength(10);
    const { balance } = await two.points.getBalance({ userId: "prize" });
    expect(balance?.availablePoints).toBe(0n);
  });
});
