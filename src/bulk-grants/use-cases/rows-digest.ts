/** The digests of a bulk grant: of its rows, and of what an approval is about. */
import { createHash } from "node:crypto";
import { formatMonth, type Instant, type Month } from "../../platform/words/month.ts";
import { sha256Of } from "../../platform/work/etags.ts";
import { eventName } from "../../points/rules/ledger.ts";
import type { Revision, UserRequest } from "../rules/bulk-grant.ts";
import type { SheetRow } from "../rules/sheet.ts";

/** Computes the digest of rows that are added in order. */
interface RowsDigest {
  add(row: SheetRow): void;
  /** Returns the digest, base64url without padding. Ends the computation. */
  digest(): string;
}

/** Lines are hashed together from so many characters on, since each call has a cost of its own. */
const hashedLength = 2 ** 13;

/**
 * Starts the digest of rows: SHA-256 over one line of UTF-8 per row, in order, each ended by LF. A
 * line is the JSON array `[user_id,points,reason]` without spaces, escaped only where JSON requires
 * it, such as `["u1",100,"thanks"]`. A row with a month of expiry of its own has an object with it
 * as the next element, such as `{"expire_month":"2026-11"}`. A row with problems of its own has
 * their codes as further elements, so that the digest changes when a problem is gone although the
 * cells are the same, and malformed points as the string that they were.
 */
export function createRowsDigest(): RowsDigest {
  const hash = createHash("sha256");
  let lines = "";
  return {
    add({ userId, points, rawPoints, reason, expireMonth, problems = [] }) {
      const month = expireMonth === undefined ? [] : [{ expire_month: expireMonth }];
      const codes = problems.map(({ code }) => code);
      lines += `${JSON.stringify([userId, rawPoints ?? points, reason, ...month, ...codes])}\n`;
      if (lines.length < hashedLength) return;
      hash.update(lines);
      lines = "";
    },
    digest: () => hash.update(lines).digest("base64url"),
  };
}

/** The hash of what a submission would grant, when and why: one content is one revision. */
export const contentHashOf = ({
  rowsDigest,
  executeTime,
  reversedBulkGrantId,
  cause,
  expireMonth,
  request,
}: {
  readonly rowsDigest: string;
  readonly executeTime?: Instant | undefined;
  readonly reversedBulkGrantId?: string | undefined;
  readonly cause?: string | undefined;
  readonly expireMonth?: Month | undefined;
  readonly request?: UserRequest | undefined;
}): string =>
  sha256Of([
    ...[rowsDigest, executeTime, reversedBulkGrantId],
    ...(expireMonth === undefined ? [] : [expireMonth]),
    ...(cause ? [cause] : []),
    // A sheet of the same row is other content.
    ...(request ? [{ request: revokedName(request) ?? null }] : []),
  ]);

const revokedName = (request: UserRequest | undefined): string | undefined =>
  request?.revokedEvent && eventName(request.revokedEvent);

/** The fields that an approval covers. `revision` is its number; times are in ms since 1970. */
interface Approvable
  extends Pick<
    Revision,
    | "cause"
    | "executeTime"
    | "expireMonth"
    | "request"
    | "requiredApprovalCount"
    | "reversedBulkGrantId"
    | "rowsDigest"
  > {
  readonly programId: string;
  readonly bulkGrantId: string;
  readonly revision: number;
}

/**
 * Returns the digest that an approval names: SHA-256, base64url without padding, over a JSON object
 * without spaces that has these keys in this order: `program_id`, `bulk_grant_id`, `revision`,
 * `execute_time_ms` (null: as soon as it is approved), `required_approval_count`,
 * `reversed_bulk_grant_id` (null for a bulk grant that grants), `expire_month` (only for a bulk
 * grant that has one), `rows_digest`, `cause` (only for one that has one) and `grant_event` (only
 * for the request of a revoke), which is the origin and the id of the event, as in `c:order-17`.
 */
export function digestOf(approvable: Approvable): string {
  const revoked = revokedName(approvable.request);
  return sha256Of({
    program_id: approvable.programId,
    bulk_grant_id: approvable.bulkGrantId,
    revision: approvable.revision,
    execute_time_ms: approvable.executeTime ?? null,
    required_approval_count: approvable.requiredApprovalCount,
    reversed_bulk_grant_id: approvable.reversedBulkGrantId ?? null,
    ...(approvable.expireMonth !== undefined && {
      expire_month: formatMonth(approvable.expireMonth),
    }),
    rows_digest: approvable.rowsDigest,
    ...(approvable.cause && { cause: approvable.cause }),
    ...(revoked !== undefined && { grant_event: revoked }),
  });
}
