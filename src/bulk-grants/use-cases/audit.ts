/** Writes all rows of all revisions for an audit: who got what, and by whose approval. */

import { allPages } from "../../platform/ports/pages.ts";
import { displayCaller } from "../../platform/words/caller.ts";
import { formatMonth } from "../../platform/words/month.ts";
import type { EventKey, LedgerEntry } from "../../points/rules/ledger.ts";
import type { SheetCells } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import type { BulkGrant, BulkGrantName, Revision } from "../rules/bulk-grant.ts";
import { problemCells, rowsPerBlock } from "../rules/sheet.ts";
import { rowEventKey } from "./execute-row.ts";
import { listActions } from "./history.ts";
import { type ReadRow, readRevision, readStates } from "./queries.ts";
import { writeCsv } from "./write-csv.ts";

const header = [
  "revision",
  "line",
  "user_id",
  "points",
  "reason",
  "expire_month",
  "outcome",
  "error_codes",
  "ledger_number",
  "granted_points",
  "approvers",
];

type ReadDeps = Pick<Deps, "reader">;

/** Yields CSV with a line for each row, the first revision first. */
export const writeAudit = (deps: ReadDeps, bulkGrant: BulkGrant): AsyncGenerator<string> =>
  writeCsv(auditLines(deps, bulkGrant));

async function* auditLines(deps: ReadDeps, bulkGrant: BulkGrant): AsyncGenerator<SheetCells, void> {
  yield header;
  const approvers = await readApprovers(deps, bulkGrant);
  const last = bulkGrant.revision.number;
  for (let number = 1; number <= last; number++) {
    const current = await readRevision(deps, bulkGrant, number);
    const next = number < last ? await readRevision(deps, bulkGrant, number + 1) : undefined;
    const { rowCount, submitTime } = current.revision;
    const endTime = next?.revision.submitTime ?? Number.POSITIVE_INFINITY;
    for (let block = 0; block * rowsPerBlock < rowCount; block++) {
      const rows = await readStates(deps, current, block);
      const events = await readEvents(deps, bulkGrant, rows);
      for (const [i, row] of rows.entries()) {
        const entry = events[i]?.entry;
        const isOfRow =
          entry &&
          (isGranted(row) || (submitTime <= entry.createTime && entry.createTime < endTime));
        const approvedBy = approvers.get(number) ?? [];
        yield lineOf(current.revision, row, isOfRow ? entry : undefined, approvedBy);
      }
    }
  }
}

/** Who has approved each revision. */
async function readApprovers(
  deps: ReadDeps,
  bulkGrant: BulkGrant,
): Promise<Map<number, readonly string[]>> {
  const approvers = new Map<number, readonly string[]>();
  for await (const actions of allPages(100, (page) => listActions(deps, bulkGrant, page))) {
    for (const { action, revision, caller } of actions) {
      if (action !== "APPROVE") continue;
      approvers.set(revision, [...(approvers.get(revision) ?? []), displayCaller(caller)]);
    }
  }
  return approvers;
}

/** The event keys of the rows; undefined where the row is wrong or has no event. */
async function readEvents(
  { reader }: ReadDeps,
  { programId, bulkGrantId }: BulkGrantName,
  rows: readonly ReadRow[],
): Promise<(EventKey | undefined)[]> {
  const right = rows.filter(({ state }) => state !== "INVALID");
  const keys = right.map(({ row }) => rowEventKey(programId, bulkGrantId, row.userId));
  const events = new Map((await reader.many(keys)).map((event, i) => [right[i], event]));
  return rows.map((row) => events.get(row));
}

/**
 * Whether the outcome says that the row is granted. An entry shows it, too, that was recorded while
 * the revision was the current one: a late attempt may have granted a row that was counted as not
 * run, and the outcome of a block is written after its rows.
 */
const isGranted = ({ state }: ReadRow): boolean =>
  state === "GRANTED" || state === "ALREADY_GRANTED";

const lineOf = (
  { number, expireMonth }: Revision,
  { row, state, problems }: ReadRow,
  entry: LedgerEntry | undefined,
  approvers: readonly string[],
): SheetCells => [
  number,
  row.line,
  row.userId,
  row.rawPoints ?? row.points,
  row.reason,
  row.expireMonth ?? (expireMonth === undefined ? "" : formatMonth(expireMonth)),
  state,
  problemCells(problems).error_code,
  entry?.number ?? "",
  entry?.points ?? "",
  approvers.join("; "),
];
