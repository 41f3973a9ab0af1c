/** Plays one bulk grant from its first sheet to its last revision, while everything fails. */
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import pLimit from "p-limit";
import { expect } from "vitest";
import type { RowCode } from "../../../src/bulk-grants/rules/sheet.ts";
import {
  type BulkGrant,
  BulkGrant_State as State,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { getBalance } from "../../../src/points/use-cases/queries.ts";
import { uploadCsv } from "../fixtures/bulk-grant-calls.ts";
import { freeze, verified } from "../fixtures/reservations.ts";
import { eventually } from "../fixtures/waiting.ts";
import { type CampaignStack, faults, startKilledWorker } from "../servers/campaign-stack.ts";
import { reasonOf } from "../servers/refusal.ts";
import type { WorkerStack } from "../servers/worker.ts";
import { exportedRow, type PlannedRow, parseExport, planRows, sheetOf } from "./bulk-sheet.ts";

const retryable: readonly Code[] = [
  Code.Unavailable,
  Code.Aborted,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
];

/** Sends a call again while its error is retryable, as clients do. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ConnectError) || !retryable.includes(error.code)) throw error;
    }
  }
}

/** The calls of people who submit, approve and follow one bulk grant. */
function callsOf({ workers, server }: CampaignStack, bulkGrantId: string) {
  const name = { programId: workers.programId, bulkGrantId };
  const submitter = server.clientsOf("submitter");
  const approver = server.clientsOf("approver").bulkGrants;
  const get = () => untilAnswered(() => submitter.bulkGrants.getBulkGrant(name));
  const read = async () => (await get()).bulkGrant as BulkGrant;
  const approvalOf = ({ digest }: BulkGrant) => ({ ...name, digest });
  return {
    submit: async (csv: string | Uint8Array) =>
      (await untilAnswered(() => uploadCsv(submitter, name, csv))).bulkGrant as BulkGrant,
    /** Expects that the submitter's approval is refused, and approves as another person. */
    async approve(bulkGrant: BulkGrant): Promise<void> {
      const own = untilAnswered(() => submitter.bulkGrants.approveBulkGrant(approvalOf(bulkGrant)));
      expect(await reasonOf(own)).toBe("SELF_APPROVAL");
      await untilAnswered(() => approver.approveBulkGrant(approvalOf(bulkGrant)));
    },
    cancel: () => untilAnswered(() => approver.cancelBulkGrant(name)),
    get,
    /** Waits for a state of the current revision. */
    comesTo: (state: keyof typeof State, timeoutMs?: number) =>
      eventually(async () => {
        const bulkGrant = await read();
        expect(bulkGrant.state).toBe(State[state]);
        return bulkGrant;
      }, timeoutMs),
    exportFailedRows: () =>
      untilAnswered(async () => {
        const chunks: Uint8Array[] = [];
        for await (const { csvChunk } of approver.exportFailedBulkGrantRows(name))
          chunks.push(csvChunk);
        return Buffer.concat(chunks);
      }),
  };
}

interface CampaignOptions {
  readonly bulkGrantId: string;
  readonly rowCount: number;
  /** After so many transactions of rows a worker is killed. */
  readonly every: number;
  readonly maxKills: number;
  /** How long one state may take to come, in ms. */
  readonly timeoutMs: number;
}

/** Of so many good rows, the account of one is frozen between the validation and the run. */
const frozenEvery = 97;

/**
 * Plays a campaign while workers are killed and the store has faults: a sheet with bad rows is
 * INVALID; corrected and approved by another person, it runs; a changed row is refused; the
 * exported failures are sent again. Expects in between that the exports hold exactly the rows that
 * were not granted, that each good row is granted exactly once, and that each outcome is one
 * message. Returns how many workers were killed.
 */
export async function playCampaign(
  stack: CampaignStack,
  options: CampaignOptions,
): Promise<number> {
  const { workers } = stack;
  const { bulkGrantId, rowCount } = options;
  const campaign = campaignOf(stack, options, planRows(bulkGrantId, rowCount));
  await campaign.freezeFirst(true);
  workers.proxy.faults(faults);
  const worker = await startKilledWorker(stack, bulkGrantId, options);
  try {
    await submitWithBadRows(campaign);
    await campaign.freezeFirst(false);
    const failures = await runCorrected(campaign);
    await refuseChangedRow(campaign);
    await sendAgain(campaign, failures);
  } finally {
    workers.proxy.faults({});
    await worker.stop();
  }
  await expectBalances(workers, campaign.rows);
  return worker.kills;
}

/** Longer than any attempt may still write after a cancellation. */
const lateMs = 15_000;

/**
 * Plays a campaign that is cancelled when about half of its rows are granted, while workers are
 * killed and the store has faults. Expects that the counts of its end are those of the ledgers,
 * that no row is granted any more, and that the exported rest, sent again, grants each row once.
 * Returns how many workers were killed.
 */
export async function playCancelledCampaign(
  stack: CampaignStack,
  options: CampaignOptions,
): Promise<number> {
  const { workers } = stack;
  const { bulkGrantId, rowCount } = options;
  const rows = planRows(bulkGrantId, rowCount).map(({ code: _, ...row }) => row);
  const campaign = campaignOf(stack, options, rows);
  workers.proxy.faults(faults);
  const worker = await startKilledWorker(stack, bulkGrantId, options);
  try {
    await campaign.submit(sheetOf(campaign.cells));
    await campaign.approve(await campaign.comesTo("AWAITING_APPROVAL"));
    await eventually(async () => {
      expect((await campaign.get()).progress?.grantedCount).toBeGreaterThan(rowCount / 2);
    }, options.timeoutMs);
    await campaign.cancel();
    const { result } = await campaign.comesTo("CANCELLED");
    const left = await leftOf(workers, rows);
    const granted = rows.filter((row) => !left.has(row));
    expect(result).toMatchObject({
      grantedCount: granted.length,
      grantedPoints: pointsOf(granted),
      failedCount: 0,
      notRunCount: left.size,
    });
    await sleep(lateMs);
    await campaign.expectGranted(left);
    const rest = await campaign.expectExport(1, campaign.cells, (row) =>
      left.has(row) ? "NOT_RUN" : undefined,
    );
    await sendRest(campaign, left, rest);
  } finally {
    workers.proxy.faults({});
    await worker.stop();
  }
  await expectBalances(workers, rows);
  return worker.kills;
}

/** The rows whose users have no points yet. */
async function leftOf(
  { deps, programId }: WorkerStack,
  rows: readonly PlannedRow[],
): Promise<Set<PlannedRow>> {
  const limit = pLimit(concurrency);
  const left = new Set<PlannedRow>();
  const read = async (row: PlannedRow) => {
    const { availablePoints } = await getBalance(deps, { programId, userId: row.userId });
    if (availablePoints === 0) left.add(row);
  };
  await Promise.all(rows.map((row) => limit(() => read(row))));
  expect(left.size).toBeGreaterThan(0);
  return left;
}

async function sendRest(
  campaign: Campaign,
  left: ReadonlySet<PlannedRow>,
  csv: Uint8Array,
): Promise<void> {
  await campaign.submit(csv);
  await campaign.approve(await campaign.comesTo("AWAITING_APPROVAL"));
  expect(await campaign.comesTo("DONE")).toMatchObject({
    revision: 2,
    result: { grantedCount: left.size, failedCount: 0 },
  });
  await campaign.expectGranted(new Set());
}

type Campaign = ReturnType<typeof campaignOf>;

function campaignOf(
  stack: CampaignStack,
  { bulkGrantId, timeoutMs }: CampaignOptions,
  rows: readonly PlannedRow[],
) {
  const { workers, slack } = stack;
  const calls = callsOf(stack, bulkGrantId);
  const frozenFirst = rows.filter(({ code }) => code === "ACCOUNT_FROZEN");
  const failing = new Set(rows.filter(({ code }, index) => !code && index % frozenEvery === 0));
  const setFrozen = (users: Iterable<PlannedRow>, isFrozen: boolean) =>
    Promise.all(Array.from(users, ({ userId }) => freeze(workers, userId, isFrozen)));
  return {
    ...calls,
    rows,
    /** The rows whose accounts are frozen between the validation and the run. */
    failing,
    cells: rows.map(({ cells }) => cells),
    comesTo: (state: keyof typeof State) => calls.comesTo(state, timeoutMs),
    freezeFirst: (isFrozen: boolean) => setFrozen(frozenFirst, isFrozen),
    freezeFailing: (isFrozen: boolean) => setFrozen(failing, isFrozen),
    expectGranted: (without: ReadonlySet<PlannedRow>) =>
      expectGranted(workers, bulkGrantId, rows, without),
    expectMessages: (count: number) =>
      eventually(async () => {
        const outcomes = slack.messages.filter(
          (text) => text.includes(bulkGrantId) && / is (DONE|CANCELLED|INVALID)/.test(text),
        );
        expect(outcomes).toHaveLength(count);
      }),
    /** Expects that the export has exactly the rows with a code, and returns it. */
    async expectExport(
      revision: number,
      cells: readonly (readonly string[])[],
      codeOf: (row: PlannedRow, index: number) => RowCode | undefined,
    ): Promise<Uint8Array> {
      const csv = await calls.exportFailedRows();
      const expected = rows.flatMap((row, index) => {
        const code = codeOf(row, index);
        return code ? [exportedRow(index, cells[index] ?? [], code)] : [];
      });
      expect(parseExport(csv, { bulkGrantId, revision })).toEqual(expected);
      return csv;
    },
  };
}

async function submitWithBadRows({ rows, ...campaign }: Campaign): Promise<void> {
  const first = rows.map(({ firstCells }) => firstCells);
  await campaign.submit(sheetOf(first));
  const invalidCount = rows.filter(({ code }) => code).length;
  const expected = { revision: 1, rowCount: rows.length, invalidCount };
  expect(await campaign.comesTo("INVALID")).toMatchObject(expected);
  // Nothing has run, so the rest is exported, too: the corrected sheet loses no row.
  await campaign.expectExport(1, first, ({ code = "NOT_RUN" }) => code);
}

/** Returns the export of the rows that the run could not grant. */
async function runCorrected({ rows, failing, cells, ...campaign }: Campaign): Promise<Uint8Array> {
  await campaign.submit(sheetOf(cells));
  const awaiting = await campaign.comesTo("AWAITING_APPROVAL");
  expect(awaiting).toMatchObject({ revision: 2, rowCount: rows.length, invalidCount: 0 });
  await campaign.freezeFailing(true);
  await campaign.approve(awaiting);
  const { result } = await campaign.comesTo("DONE_WITH_FAILURES");
  await campaign.expectGranted(failing);
  const granted = rows.filter((row) => !failing.has(row));
  expect(result).toMatchObject({
    grantedCount: granted.length,
    grantedPoints: pointsOf(granted),
    failedCount: failing.size,
    notRunCount: 0,
    problemCounts: [{ code: "ACCOUNT_FROZEN", rowCount: failing.size }],
  });
  await campaign.expectMessages(1);
  await campaign.freezeFailing(false);
  return campaign.expectExport(2, cells, (row) =>
    failing.has(row) ? "ACCOUNT_FROZEN" : undefined,
  );
}

/** The row with this index is sent with other points after it was granted. */
const changedIndex = 1;

async function refuseChangedRow({ rows, failing, cells, ...campaign }: Campaign): Promise<void> {
  const changed = cells.with(changedIndex, cells[changedIndex]?.with(1, "999") ?? []);
  await campaign.submit(sheetOf(changed));
  const alreadyGrantedCount = rows.length - failing.size - 1;
  const expected = { revision: 3, invalidCount: 1, alreadyGrantedCount };
  expect(await campaign.comesTo("INVALID")).toMatchObject(expected);
  await campaign.expectExport(3, changed, (row, index) => {
    if (index === changedIndex) return "ID_REUSED";
    return failing.has(row) ? "NOT_RUN" : undefined;
  });
}

async function sendAgain({ failing, ...campaign }: Campaign, failures: Uint8Array): Promise<void> {
  await campaign.submit(failures);
  await campaign.approve(await campaign.comesTo("AWAITING_APPROVAL"));
  expect(await campaign.comesTo("DONE")).toMatchObject({
    revision: 4,
    rowCount: failing.size,
    result: { grantedCount: failing.size, failedCount: 0 },
  });
  await campaign.expectGranted(new Set());
  await campaign.expectMessages(2);
}

const pointsOf = (rows: readonly PlannedRow[]): bigint =>
  BigInt(rows.reduce((sum, { points }) => sum + points, 0));

/** How many accounts are read at once. */
const concurrency = 16;

/** Expects that each row is one entry of its user's ledger, if it is granted, and else none. */
async function expectGranted(
  { deps, programId }: WorkerStack,
  bulkGrantId: string,
  rows: readonly PlannedRow[],
  failing: ReadonlySet<PlannedRow>,
): Promise<void> {
  const limit = pLimit(concurrency);
  const all = { from: 1, to: 1e9, newestFirst: false, types: [] };
  const page = { size: 100, cursor: undefined };
  const expectOnce = async (row: PlannedRow) => {
    const { userId, points } = row;
    const { items } = await deps.reader.entries({ programId, userId }, all, page);
    const grants = items.flatMap(({ event, points }) =>
      event.origin === "b" ? [[event.eventId, points]] : [],
    );
    expect(grants).toEqual(failing.has(row) ? [] : [[`${bulkGrantId}_${userId}`, points]]);
  };
  await Promise.all(rows.map((row) => limit(() => expectOnce(row))));
}

/** Expects that each account has the points of its row, and equals its ledger. */
async function expectBalances(workers: WorkerStack, rows: readonly PlannedRow[]): Promise<void> {
  const limit = pLimit(concurrency);
  const expectBalance = async ({ userId, points }: PlannedRow) =>
    expect(await verified(workers, userId)).toMatchObject({ balance: points });
  await Promise.all(rows.map((row) => limit(() => expectBalance(row))));
}
