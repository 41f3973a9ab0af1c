/** The use cases that request points, or the revoke of a grant, for one user without a sheet. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Points } from "../../platform/words/units.ts";
import { eventRef } from "../../points/ports/records.ts";
import { type EventName, eventName } from "../../points/rules/ledger.ts";
import { requireGrantKey } from "../../points/use-cases/commands.ts";
import { getBulkRules } from "../../points/use-cases/programs/queries.ts";
import type { SheetRow } from "../rules/sheet.ts";
import { type Submission, type Submitted, submitRows } from "./submit.ts";

type RequestDeps = Parameters<typeof submitRows>[0];

/** The parts of a request besides what is done with the points. */
interface UserSubmission
  extends Pick<
    Submission,
    "programId" | "bulkGrantId" | "submitter" | "audit" | "cause" | "expireMonth"
  > {
  readonly userId: string;
  /** For the ledger entry, and for the submission. */
  readonly reason: string;
}

/**
 * Submits points for one user as a bulk grant of one row, which is validated, approved, run and
 * reported as any other. Refusals: PROGRAM_NOT_FOUND, ID_REUSED, LIMIT_EXCEEDED above the
 * caps of the program, INVALID_REQUEST for a user id that its rules do not allow.
 */
export async function requestGrant(
  deps: RequestDeps,
  { userId, points, ...submission }: UserSubmission & { readonly points: Points },
): Promise<Submitted> {
  const { programId, reason } = submission;
  await getBulkRules(deps, programId);
  const request = { userId, reason };
  return submitRows(deps, { ...submission, request }, rowOf({ userId, points, reason }));
}

/**
 * Submits the revoke of a grant or an extension as a bulk grant of one row. It takes back what is
 * left of the grant when it runs; the approvals follow from the points that were granted, which do
 * not change. Refusals: PROGRAM_NOT_FOUND, LEDGER_ENTRY_NOT_FOUND, WRONG_STATE, ID_REUSED.
 */
export async function requestRevoke(
  deps: RequestDeps,
  { userId, grant, ...submission }: UserSubmission & { readonly grant: EventName },
): Promise<Submitted> {
  const { programId, reason } = submission;
  await getBulkRules(deps, programId);
  const [found] = await deps.reader.many([eventRef(programId, userId, eventName(grant))]);
  const { points } = requireGrantKey(grant, found).entry;
  if (points === 0) throw new DomainError("WRONG_STATE", "the extension has moved no points");
  const request = { userId, reason, revokedEvent: grant };
  return submitRows(deps, { ...submission, request }, rowOf({ userId, points, reason }));
}

/** The only row, which is in line 2, as if there was a header. */
async function* rowOf(row: Omit<SheetRow, "line">): AsyncGenerator<SheetRow, void> {
  yield { line: 2, ...row };
}
