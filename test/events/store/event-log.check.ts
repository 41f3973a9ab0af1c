/** Tests the log of events behind a store that loses answers. */
import { expect, test } from "vitest";
import type { LogBatch, LogState } from "../../../src/events/ports/log.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { used } from "../../support/fixtures/event-log.ts";
import { ownTables } from "../../support/stores/own-tables.ts";

const { endpoint, names } = ownTables("lost-answers");

const noState: LogState = { positions: {}, gaps: [] };

const batchOf = (number: number): LogBatch => ({
  number,
  time: Date.now(),
  events: [used("a", number)],
});

test("an append whose answer is lost is sent again, and found to be the same", async () => {
  const proxy = await startDynamoProxy({ upstream: endpoint });
  const own = createClients({ endpoint: proxy.endpoint, region: "ap-northeast-1" });
  try {
    const log = createEventLog(own.retrying, names("events"));
    let { number } = await log.begin();
    let lost = 0;
    proxy.faults({ lostAnswer: 0.4, operations: ["PutItem"] });
    for (let i = 0; i < 40; i++) {
      const isAppended = await log.append(batchOf(number + 1), noState).catch(() => {
        lost += 1;
        return undefined;
      });
      expect(isAppended).not.toBe(false);
      const tail = await log.begin();
      expect(isAppended ? [1] : [0, 1]).toContain(tail.number - number);
      number = tail.number;
    }
    expect(proxy.stats().faults.lostAnswer).toBeGreaterThan(10);
    expect(lost).toBeGreaterThan(0);
  } finally {
    own.close();
    await proxy.stop();
  }
});
