/** Executes one row of a bulk grant: one transaction, one outcome. */
import pRetry from "p-retry";
import type { TransactionRequest } from "../../platform/ports/engine.ts";
import type { Ref } from "../../platform/ports/records.ts";
import { annotationsOf } from "../../platform/words/annotations.ts";
import { noCaller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Month } from "../../platform/words/month.ts";
import type { Reason } from "../../platform/words/reasons.ts";
import type { Points } from "../../platform/words/units.ts";
import { isSameRequest, requestHash } from "../../platform/work/idempotency.ts";
import { accountRef, eventRef } from "../../points/ports/records.ts";
import { expiryParameters } from "../../points/rules/early-expiry.ts";
import { type EventKey, type EventName, eventName } from "../../points/rules/ledger.ts";
import { grant, revoke, type State } from "../../points/rules/points.ts";
import { putChange } from "../../points/use-cases/commands.ts";
import type { Deps } from "../ports/deps.ts";
import type { BulkGrant, BulkGrantName, Revision } from "../rules/bulk-grant.ts";
import { expireMonthOf, isRowCode, type RowProblem, type SheetRow } from "../rules/sheet.ts";
import type { Lease } from "./run-lease.ts";

type ExecuteDeps = Pick<Deps, "engine" | "programs" | "awaitRowSlot">;

/** The bulk grant as it was when its run began. */
type Run = BulkGrantName & Pick<BulkGrant, "revision">;

/** The outcome of a row: the points that were granted or revoked, or the problem. */
type RowOutcome = { readonly points: Points } | RowProblem;

/** The retryable errors that concern the account of one row. */
const reasonsOfRow: ReadonlySet<Reason> = new Set(["CONTENDED", "THROTTLED"]);

/** A retryable error of a row is retried this often: within about 10 s. */
const retries = { retries: 5, minTimeout: 200, factor: 2, randomize: true };

/**
 * Grants the points of a row once, however often it is executed; in a reversal, revokes what the
 * row of the reversed bulk grant has granted; in the request of a revoke, its grant. A refusal is
 * the row's outcome, and so are CONTENDED and THROTTLED after the retries: they concern one
 * account. Undefined when the run was over before. Throws any other retryable error, which concerns
 * all rows.
 */
export async function executeRow(
  deps: ExecuteDeps,
  bulkGrant: Run,
  row: SheetRow,
  lease: Lease,
  onFailed: (userId: string, error: unknown) => void,
): Promise<RowOutcome | undefined> {
  try {
    return await pRetry(() => attempt(deps, bulkGrant, row, lease), {
      ...retries,
      shouldRetry: ({ error }) => error instanceof DomainError && error.retryable,
    });
  } catch (error) {
    if (!(error instanceof DomainError)) {
      onFailed(row.userId, error);
      return { code: "INTERNAL" };
    }
    const { reason, message, retryable } = error;
    if (retryable && !reasonsOfRow.has(reason)) throw error;
    if (!isRowCode(reason)) throw error;
    return reason === "LIMIT_EXCEEDED" ? { code: reason, detail: message } : { code: reason };
  }
}

/** The event of a user's row. Its id is unique: the key of an account contains the user. */
const rowEvent = (bulkGrantId: string, userId: string): EventName => ({
  origin: "b",
  eventId: `${bulkGrantId}_${userId}`,
});

/** The bulk grant of the event of a user's row. */
export const bulkGrantIdOf = ({ eventId }: EventName, userId: string): string =>
  eventId.slice(0, -(userId.length + 1));

/** The key of that event: it exists if the row is granted. */
export const rowEventKey = (programId: string, bulkGrantId: string, userId: string): Ref<"event"> =>
  eventRef(programId, userId, eventName(rowEvent(bulkGrantId, userId)));

/** The parameters that the hash of a row's request covers. */
type RowParameters =
  | ({ readonly points: Points } & Partial<ReturnType<typeof expiryParameters>>)
  | { readonly reversedBulkGrantId: string }
  | { readonly revokedEvent: string };

/**
 * The hash of a row's request. Without the submitter and the reason: a row of a later revision with
 * the same points and the same month of expiry is the same grant.
 */
export const rowHash = (parameters: RowParameters): string =>
  requestHash("bulk grant", noCaller, parameters);

/** The hash of the request of a row that revokes what an event of its user has granted. */
export const revokeHash = (revoked: EventName, userId: string): string =>
  revoked.origin === "b"
    ? rowHash({ reversedBulkGrantId: bulkGrantIdOf(revoked, userId) })
    : rowHash({ revokedEvent: eventName(revoked) });

/** The event whose grant a row revokes; undefined for a row that grants. */
const revokedEventOf = (
  { reversedBulkGrantId, request }: Pick<Revision, "reversedBulkGrantId" | "request">,
  { userId }: Pick<SheetRow, "userId">,
): EventName | undefined =>
  reversedBulkGrantId === undefined ? request?.revokedEvent : rowEvent(reversedBulkGrantId, userId);

/** The hash of a row in a revision. */
export const hashOfRow = (
  row: Pick<SheetRow, "userId" | "points" | "expireMonth">,
  revision: Pick<Revision, "reversedBulkGrantId" | "request"> & {
    readonly expireMonth?: Month | undefined;
  },
): string => {
  const revoked = revokedEventOf(revision, row);
  if (revoked) return revokeHash(revoked, row.userId);
  const expiry = expiryParameters({ expireMonth: expireMonthOf(row, revision) });
  return rowHash({ points: row.points, ...expiry });
};

/** The records of a row's transaction. */
export function rowRecords(
  { programId, bulkGrantId }: BulkGrantName,
  revision: Pick<Revision, "reversedBulkGrantId" | "request">,
  { userId }: Pick<SheetRow, "userId">,
) {
  const account = accountRef(programId, userId);
  const revoked = revokedEventOf(revision, { userId });
  const reversedKey = revoked && eventRef(programId, userId, eventName(revoked));
  const readSet = reversedKey ? [account, reversedKey] : [account];
  return { account, readSet, reversedKey, eventKey: rowEventKey(programId, bulkGrantId, userId) };
}

async function attempt(
  deps: ExecuteDeps,
  bulkGrant: Run,
  row: SheetRow,
  lease: Lease,
): Promise<RowOutcome | undefined> {
  const { programId, bulkGrantId, revision } = bulkGrant;
  await deps.awaitRowSlot(`${programId}/${bulkGrantId}`);
  await deps.programs.get(programId);
  const { submitter: caller } = revision;
  const { userId, points, reason } = row;
  const expireMonth = expireMonthOf(row, revision);
  const { account, readSet, reversedKey, eventKey } = rowRecords(bulkGrant, revision, row);
  const hash = hashOfRow(row, revision);
  const annotations = annotationsOf({ ...revision, reason });
  const event = { event: rowEvent(bulkGrantId, userId), ...annotations, caller };
  const request: TransactionRequest<RowOutcome | undefined> = {
    key: account,
    readSet,
    expectAbsent: [eventKey],
    call: undefined,
    failsSoon: true,
    decide(tx, now) {
      if (!lease.isHeld) return undefined;
      const existing = tx.get(eventKey);
      if (existing) return outcomeOf(existing, hash, row);
      const program = deps.programs.current(programId);
      const state: State = { program, userId, account: tx.get(account), now: now.calendar };
      if (!reversedKey) {
        const granted = grant(state, event, points, { expireMonth });
        return { points: putChange(tx, eventKey, hash, granted).entry.points };
      }
      const reversed = requireGrant(tx.get(reversedKey));
      const change = revoke(state, event, reversed);
      const reversedPoints = reversed.reversedPoints + change.entry.points;
      tx.put(reversedKey, { ...reversed, reversedPoints });
      return { points: putChange(tx, eventKey, hash, change).entry.points };
    },
  };
  return lease.decided(() => deps.engine.transact(request));
}

/** The outcome of an earlier execution; a problem if its points or month were different. */
function outcomeOf({ entry, hash: first }: EventKey, hash: string, row: SheetRow): RowOutcome {
  if (isSameRequest(first, hash)) return { points: entry.points };
  return entry.points === row.points
    ? { code: "MONTH_DIFFERS" }
    : { code: "ID_REUSED", detail: String(entry.points) };
}

function requireGrant(found: EventKey | undefined): EventKey {
  if (found) return found;
  throw new DomainError("LEDGER_ENTRY_NOT_FOUND", "the row of the bulk grant was not granted");
}
