/**
 * Tests the clients and the reading of the state: on a server with a store in memory, where nothing
 * fails, a run of all clients is right, and every service has taken part.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { bulkGrantRef } from "../../../src/bulk-grants/ports/records.ts";
import type { Table } from "../../../src/platform/dynamodb/tables.ts";
import { defaultProgramId as programId } from "../../../src/platform/words/program-ids.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import { completeCheck, completeRun } from "../../../test/support/fixtures/bulk-grant-calls.ts";
import { eventually } from "../../../test/support/fixtures/waiting.ts";
import { randomFrom } from "../../../test/support/models/random.ts";
import { type MemoryServer, startMemoryServer } from "../../../test/support/servers/server.ts";
import { createCalls } from "../calls.ts";
import { check } from "../checks/check.ts";
import { itemsIn } from "../checks/recorded-run.ts";
import { readState } from "../final-state.ts";
import type { Record } from "../record.ts";
import { countsOf, emptyRecord, startClients } from "../run.ts";
import { registerTargets } from "./feeds.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** Does what workers do, once. */
async function work({ reservations, bulkGrants }: Record): Promise<void> {
  const { deps } = server;
  for (const { id, userId } of reservations) {
    const attempt = { programId, reservationId: id, userId };
    await executeReservation(deps, attempt).catch(() => {});
  }
  for (const { id, executeTime = 0 } of bulkGrants) {
    const found = await deps.reader.get(bulkGrantRef(programId, id));
    const state = found?.value.state;
    if (state === "VALIDATING") await completeCheck(server, id);
    if (state === "APPROVED" && executeTime <= Date.now()) await completeRun(server, id);
  }
}

test("sixteen clients without faults: everything is right", async () => {
  const surprises: string[] = [];
  const record = emptyRecord(surprises);
  const over = new AbortController();
  const callsOf = (client: number) =>
    createCalls([server.clientsOf], randomFrom(20_261_125 + client), over.signal);
  await registerTargets(callsOf(0));
  const clients = startClients(server, record, callsOf, (what) => surprises.push(what));
  expect(clients).toHaveLength(16);
  await eventually(async () => {
    await work(record);
    for (const [name, { acknowledged }] of Object.entries(countsOf(record))) {
      expect(acknowledged, name).toBeGreaterThan(0);
    }
  });
  over.abort();
  await Promise.all(clients.map(({ ended }) => ended));
  // Records that become due after this moment are not processed.
  const time = Date.now();
  await work(record);
  const { deps, store } = server;
  const itemsOf = async (table: Table) => itemsIn(store, table);
  const wrong = async () => {
    const state = await readState({ deps, itemsOf }, record);
    return check(record, { ...state, time });
  };
  expect(await wrong()).toEqual([]);

  // An account that no client has named is read, too.
  await server.points.grantPoints({ userId: "stranger", eventId: "x", points: 5n });
  expect(await wrong()).toEqual(["entry 1 of stranger is c:x, which nobody has sent"]);
});
