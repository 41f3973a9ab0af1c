/** Tests that jobs over all accounts cost the same, however long the ledgers have grown. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { tableModel } from "../../../bench/capacity.ts";
import { createMeter } from "../../../bench/meter.ts";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { accountRef, entryRef, programRef } from "../../../src/points/ports/records.ts";
import { noTotals } from "../../../src/points/rules/ledger.ts";
import { ledgerExport } from "../../../src/points/use-cases/jobs/export-ledger.ts";
import { liabilityReport } from "../../../src/points/use-cases/jobs/liability.ts";
import { createDynamoReader } from "../../../src/store/readers.ts";
import { jobOf, makeStep } from "../../support/fixtures/jobs.ts";
import { program } from "../../support/fixtures/ledger-fixture.ts";
import { account, entry } from "../../support/fixtures/stored-points.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const names = tableName("");
const accounts = 100;
const hour = 3_600_000;
/** The time of the last entry of each account; there is one entry an hour. */
const latest = 1_790_000_000_000;

/** Accounts with so many entries each, and the read units of a job on them, for each account. */
function fill(entries: number) {
  const { deps, store } = memoryDeps({ time: latest + hour });
  store.force(programRef("p"), program(12));
  for (let i = 0; i < accounts; i++) {
    const userId = `user-${String(i).padStart(7, "0")}`;
    const slots = Array<number>(12).fill(10);
    const totals = { ...noTotals, issuedPoints: 10 * entries };
    const stored = account("p", userId, { time: latest, last: entries, slots, totals });
    store.force(accountRef("p", userId), stored);
    for (let number = 1; number <= entries; number++) {
      const createTime = latest - (entries - number) * hour;
      store.force(entryRef("p", userId, number), entry(number, { createTime }));
    }
  }
  const meter = createMeter(localTableDefinitions(names).map(tableModel));
  let reads = 0;
  const metered = {
    async send(command: Parameters<DynamoDBClient["send"]>[0]) {
      const response = await store.client.send(command);
      const operation = command.constructor.name.replace(/Command$/, "");
      reads += meter.add({
        operation,
        request: command.input,
        status: 200,
        response,
        forwarded: true,
      }).reads;
      return response;
    },
  } as unknown as DynamoDBClient;
  const reader = createDynamoReader({ retrying: metered, single: metered }, names);
  const unitsOf = async (step: () => Promise<unknown>) => {
    reads = 0;
    await step();
    return reads / accounts;
  };
  return {
    report: () =>
      unitsOf(async () => {
        const job = jobOf(liabilityReport, "p", {}, latest + 1);
        const found = await makeStep({ ...deps, reader }, liabilityReport, job);
        expect(found).toMatchObject({ accounts, failed: 0 });
      }),
    exportOf: (start: number, end: number, entries: number) =>
      unitsOf(async () => {
        const job = jobOf(ledgerExport, "p", { destination: "audit", start, end }, latest + hour);
        const found = await makeStep({ ...deps, reader }, ledgerExport, job);
        expect(found).toMatchObject({ entries: accounts * entries, unreadable: 0 });
      }),
  };
}

describe("read units of an account", () => {
  const [short, long] = [fill(20), fill(2_000)];

  test("report.units_per_account: a report reads accounts only", async () => {
    const [few, many] = [await short.report(), await long.report()];
    expect(few).toBeLessThanOrEqual(0.1);
    expect(many).toBeLessThanOrEqual(0.1);
    expect(many / few).toBeLessThanOrEqual(1.1);
  });

  test("export.cost: an export reads accounts, and of changed ones the window", async () => {
    const end = latest + 1;
    // Two units for a short ledger; in a long one a search, and some entries before the window.
    const recent = [latest - 9 * hour, end, 10] as const;
    expect(await short.exportOf(...recent)).toBeLessThanOrEqual(2.1);
    expect(await long.exportOf(...recent)).toBeLessThanOrEqual(5.1);
    const past = latest - 1_000 * hour;
    expect(await long.exportOf(past, past + 10 * hour, 10)).toBeLessThanOrEqual(20);
    for (const ledgers of [short, long]) {
      expect(await ledgers.exportOf(end, end + 1, 0)).toBeLessThanOrEqual(0.1);
    }
  });
});
