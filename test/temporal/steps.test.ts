/** Tests with Temporal's own retries that an outage within a page loses nothing that was done. */
import { NativeConnection } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkerDeps } from "../../src/hub/deps.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import type { TransactionRequest } from "../../src/platform/ports/engine.ts";
import type { PageRequest } from "../../src/platform/ports/pages.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import type { MonthEndResult } from "../../src/points/contract/month-ends.ts";
import { accountRef } from "../../src/points/ports/records.ts";
import { createWorker } from "../../src/worker.ts";
import { startWorkerStack, type WorkerStack, workflowBundle } from "../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
});
afterAll(() => stack.stop());

const program = {
  programId: "p",
  timeZone: "UTC",
  lifetimes: [{ lifetimeMonths: 12, effectiveTime: 0 }],
  createTime: 0,
};

const away = () => Promise.reject(new DomainError("STORE_UNAVAILABLE", "away"));

/** A store with due accounts in one shard. It is away for one commit, and for the read after it. */
function storeWithOutage(userIds: readonly string[], awayAt: number) {
  const expired: string[] = [];
  let calls = 0;
  let isReadAway = false;
  const engine = {
    async transact({ key }: TransactionRequest<unknown>) {
      if (key.kind === "program") return {};
      if (++calls === awayAt) {
        isReadAway = true;
        return away();
      }
      expired.push(key.id);
      return "expired";
    },
  };
  const reader = {
    async dueAccounts(_: string, shard: number, __: number, { size, cursor = "" }: PageRequest) {
      if (shard > 0) return { items: [] };
      if (isReadAway) {
        isReadAway = false;
        return away();
      }
      const left = userIds.filter((userId) => userId > cursor && !expired.includes(idOf(userId)));
      const items = left.slice(0, size).map((userId) => ({ programId: "p", userId }));
      const last = items.at(-1)?.userId;
      return { items, ...(left.length > size && last !== undefined && { cursor: last }) };
    },
  };
  const clock = { now: async () => ({ calendar: 0, wall: 0 }) };
  const paceSweep = async () => {};
  const deps = { engine, reader, clock, paceSweep, programs: { get: async () => program } };
  return { deps: deps as unknown as WorkerDeps, expired };
}

const idOf = (userId: string) => accountRef("p", userId).id;

test("a month end counts each account once, although the store was away in a page", async () => {
  const { config, client, metrics } = stack;
  const userIds = Array.from({ length: 200 }, (_, i) => `user-${String(i).padStart(3, "0")}`);
  const { deps, expired } = storeWithOutage(userIds, 50);
  const bundle = workflowBundle();
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const log = createLogger("test", "silent");
  const worker = await createWorker({ connection, config, bundle, deps, metrics, log });
  const running = worker.run();
  const result: MonthEndResult = await client.workflow.execute("monthEnd", {
    workflowId: "month-end-with-outage",
    taskQueue: config.taskQueue,
    args: [{ program_id: "p" }],
  });
  worker.shutdown();
  await running;
  await connection.close();
  expect(result).toMatchObject({ expired: 200, unchanged: 0, failed: 0 });
  expect(expired.toSorted()).toEqual(userIds.map(idOf));
});
