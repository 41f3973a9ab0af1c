/**
 * Runs the fault workload in many rounds with different faults. The seed is TEST_SOAK_SEED, or
 * is drawn and printed; TEST_SOAK_ROUNDS is the number of rounds.
 */
import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createProgram } from "../../src/app/programs/commands.ts";
import { localTableDefinitions } from "../../src/ops/tables/definitions.ts";
import { createTables } from "../../src/ops/tables/manage-tables.ts";
import { type Clients, createClients } from "../../src/store/dynamodb/sdk/client.ts";
import { tableName } from "../../src/store/dynamodb/tables.ts";
import { itemByItem } from "../../tools/dynamo-proxy/isolation.ts";
import { startDynamoProxy } from "../../tools/dynamo-proxy/proxy.ts";
import {
  checkOutcomes,
  type Process,
  plan,
  programId,
  runWorkload,
  settle,
  startProcess,
} from "../support/models/fault-workload.ts";
import { randomFrom } from "../support/models/random.ts";
import { deleteTables } from "../support/stores/delete-tables.ts";

const number = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);

const seed = number("TEST_SOAK_SEED", randomInt(2 ** 31));
const rounds = number("TEST_SOAK_ROUNDS", 10);
const upstream = inject("dynamodbEndpoint");
const names = tableName(`soak-${randomUUID().slice(0, 8)}-`);
let clients: Clients;
let direct: Process;

beforeAll(async () => {
  console.info(`TEST_SOAK_SEED=${seed}`);
  clients = createClients({ endpoint: upstream, region: "ap-northeast-1" });
  await createTables(clients.retrying, localTableDefinitions(names));
  direct = startProcess(upstream, names);
  await createProgram(direct.deps, { programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
});

afterAll(async () => {
  await deleteTables(clients.retrying, names);
  direct.close();
  clients.close();
});

test(`${rounds} rounds of 2,000 operations, with outages and processes that stop`, async () => {
  for (let round = 0; round < rounds; round++) {
    const roundSeed = seed + round;
    const counts = await runRound(roundSeed, round);
    console.info(`round ${round}, seed ${roundSeed}: ${JSON.stringify(counts)}`);
    expect(counts.acknowledged).toBeGreaterThan(500);
  }
});

/** One round: faults, locks, outages, and processes that stop while they serve calls. */
async function runRound(roundSeed: number, round: number) {
  const proxy = await startDynamoProxy({ upstream, seed: roundSeed });
  const random = randomFrom(roundSeed);
  const processes = Array.from({ length: 4 }, () => startProcess(proxy.endpoint, names));
  const started = [...processes];
  proxy.faults({
    lostAnswer: 0.05 + 0.1 * random(),
    conflict: 0.1 * random(),
    throttle: 0.1 * random(),
    serverError: 0.1 * random(),
    delay: 0.2,
    delayMs: [1, 60],
    lostBy: round % 5 === 4 ? "silence" : "destroy",
  });
  proxy.lock(Math.floor(4 * random()));
  if (round % 2 === 1) proxy.isolation(itemByItem);
  const operations = plan(roundSeed, 2_000, 5 + Math.floor(60 * random())).map((each) => ({
    ...each,
    userId: `${round}-${each.userId}`,
  }));
  let isOver = false;
  const outages = (async () => {
    while (!isOver) {
      await sleep(500 + 2_000 * random());
      if (random() < 0.5) {
        proxy.down(true);
        await sleep(100 + 500 * random());
        proxy.down(false);
      } else {
        const which = Math.floor(processes.length * random());
        processes[which]?.close();
        const next = startProcess(proxy.endpoint, names);
        processes[which] = next;
        started.push(next);
      }
    }
  })();
  const outcomes = await runWorkload(processes, operations, roundSeed, 48);
  isOver = true;
  await outages;
  proxy.faults({});
  proxy.lock(0);
  proxy.isolation(undefined);
  await settle(started, proxy);
  for (const each of processes) each.close();
  await proxy.stop();
  return checkOutcomes(direct.deps, outcomes);
}
