/**
 * Tests the creation of reservations on DynamoDB behind the fault proxy: a creation is a plain
 * write, which has no ClientRequestToken.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { createReservation } from "../../../src/reservations/use-cases/commands.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import { itemByItem } from "../../../tools/dynamo-proxy/isolation.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { markedIds } from "../../support/fixtures/pending-starts.ts";
import { patience } from "../../support/fixtures/waiting.ts";
import {
  type Process,
  programId,
  settle,
  startProcess,
} from "../../support/models/fault-workload.ts";
import { noWorkflows } from "../../support/servers/no-workflows.ts";
import { ownTables } from "../../support/stores/own-tables.ts";

const { endpoint: upstream, names } = ownTables("reserve-faults");
let proxy: DynamoProxy;
let processes: Process[];
beforeAll(async () => {
  proxy = await startDynamoProxy({ upstream });
  processes = [proxy.endpoint, proxy.endpoint].map((endpoint) => startProcess(endpoint, names));
  const { deps } = processes[0] as Process;
  await createProgram(deps, { programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
});
afterAll(async () => {
  for (const each of processes) each.close();
  await proxy.stop();
});

const executeTime = Date.now() + 3_600_000;

/** The answer to a creation, sent again while its error is retryable: points, or a refusal. */
async function create(deps: Deps, reservationId: string, points: number) {
  let hasFailed = false;
  for (;;) {
    try {
      const ids = { programId, reservationId, userId: "u" };
      const request = { ...ids, points, reason: "", executeTime, caller: asService("tests") };
      const { reservation, replayed } = await createReservation(deps, request);
      return { points: reservation.points, replayed, hasFailed };
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (!error.retryable) return { refusal: error.reason, hasFailed };
      hasFailed = true;
    }
  }
}

test("exactly one creation of an id wins, whatever answers are lost", async () => {
  const started = new Set<string>();
  const workflows = {
    ...noWorkflows,
    startReservation: async (record: { reservationId: string }) => {
      started.add(record.reservationId);
    },
  };
  const deps = processes.map((each): Deps => ({ ...each.deps, workflows }));
  const [first] = deps as [Deps];
  const ids = Array.from({ length: 12 }, (_, i) => `r-${i}`);
  proxy.isolation(itemByItem);
  proxy.faults({ lostAnswer: 0.3, throttle: 0.1, serverError: 0.2, operations: "writes" });
  for (const id of ids) {
    const calls = deps.flatMap((each) => [create(each, id, 10), create(each, id, 11)]);
    const answers = await Promise.all(calls);
    const granted = answers.flatMap(({ points }) => points ?? []);
    expect(granted, id).toEqual([granted[0], granted[0]]);
    expect(answers.flatMap(({ refusal }) => refusal ?? [])).toEqual(["ID_REUSED", "ID_REUSED"]);
    const creators = answers.filter(({ replayed }) => replayed === false);
    // A call that has failed and is sent again may have been the one that created it.
    const mayBeNone = answers.some(({ hasFailed }) => hasFailed);
    expect(creators.length, id).toBeLessThanOrEqual(1);
    expect(creators.length, id).toBeGreaterThanOrEqual(mayBeNone ? 0 : 1);
  }
  expect(proxy.stats().faults.lostAnswer).toBeGreaterThan(5);
  expect(proxy.stats().requests.PutItem).toBeGreaterThan(24);
  proxy.faults({});
  proxy.isolation(undefined);
  await settle(processes, proxy);
  const later: Deps = {
    ...first,
    clock: {
      async now() {
        const { wall, calendar } = await first.clock.now();
        return { wall: wall + 11_000, calendar };
      },
    },
  };
  const failed = (_: unknown, error: unknown) => expect.unreachable(String(error));
  await expect
    .poll(() => syncRuns(later, 0, failed).then(() => markedIds(first, programId)), patience)
    .toEqual([]);
  expect([...started].toSorted()).toEqual(ids.toSorted());
});
