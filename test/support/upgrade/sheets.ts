/** Bulk grants during an upgrade, one after the other, and the check of their rows. */
import type { Meguri } from "@meguri/client";
import { expect } from "vitest";
import { BulkGrant_State as State } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { eventually } from "../fixtures/waiting.ts";
import { ledgerOf } from "./points.ts";

/**
 * At five rows a second in one range the first sheet takes 160 s. So it still runs when the workers
 * are replaced, of which each may take 15 s to stop and 60 s to start on a busy machine.
 */
const firstRows = 800;
const laterRows = 40;
const points = 3n;

/**
 * Submits a sheet, has it approved and watches it to its end, again and again. Returns how many
 * there were. `onRunning` is called when the first rows are granted.
 */
export async function callSheets(
  submitter: Meguri,
  approver: Meguri,
  onRunning: () => void,
  isOver: () => boolean,
): Promise<number> {
  let count = 0;
  for (; !isOver(); count++) {
    const name = { bulkGrantId: `sheet-${count}` };
    const rowCount = count === 0 ? firstRows : laterRows;
    const rows = Array.from({ length: rowCount }, (_, i) => ({ userId: `row-${i}`, points }));
    await submitter.uploadBulkGrant(name, { rows });
    const digest = await eventually(async () => {
      const { bulkGrant } = await submitter.bulkGrants.getBulkGrant(name);
      expect(bulkGrant?.state).toBe(State.AWAITING_APPROVAL);
      return bulkGrant?.digest ?? "";
    });
    await approver.bulkGrants.approveBulkGrant({ ...name, digest });
    // Progress is counted by blocks of rows, so the first rows are seen in their ledgers only.
    await eventually(async () => {
      const eventIds = (await ledgerOf(submitter, "row-0")).map(({ event }) => event?.eventId);
      expect(eventIds).toContain(`sheet-${count}_row-0`);
    });
    onRunning();
    let granted = 0;
    for await (const { progress, bulkGrant } of submitter.watchBulkGrant(name)) {
      const next = Math.max(progress?.grantedCount ?? 0, bulkGrant?.result?.grantedCount ?? 0);
      expect(next).toBeGreaterThanOrEqual(granted);
      granted = next;
    }
    const { bulkGrant } = await submitter.bulkGrants.getBulkGrant(name);
    expect(bulkGrant).toMatchObject({
      state: State.DONE,
      result: { grantedCount: rowCount, failedCount: 0, notRunCount: 0 },
    });
  }
  return count;
}

/** Each row of each sheet is in its ledger once. */
export async function checkSheets(client: Meguri, count: number): Promise<void> {
  for (let i = 0; i < firstRows; i++) {
    const entries = await ledgerOf(client, `row-${i}`);
    const sheets = Array.from({ length: i < laterRows ? count : 1 }, (_, n) => `sheet-${n}`);
    expect(
      entries.map(({ event, points: granted }) => [event?.origin, event?.eventId, granted]),
    ).toEqual(sheets.map((sheet) => [EventOrigin.BULK_GRANT, `${sheet}_row-${i}`, points]));
  }
}
