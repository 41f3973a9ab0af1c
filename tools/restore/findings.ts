/** The findings of a comparison of restored tables, and their repairs. */

import type { Deps } from "../../src/hub/deps.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import type { RepairDeps } from "../../src/points/use-cases/repair-account.ts";
import type { TableScan } from "../../src/store/scans.ts";

/** The kinds of findings and their meaning. docs/run/restore.md has the next step for each. */
export const findingKinds = {
  ACCOUNT_DIFFERS: "the account does not agree with its ledger",
  EVENT_KEY_LOST: "a ledger entry without the key of its event",
  EVENT_KEY_DIFFERS: "the key of an event does not agree with the ledger",
  LEDGER_ENTRY_LOST: "the key of an event without its ledger entry",
  RESERVATION_GRANT_LOST: "a reservation is DONE, and its grant is lost",
  RESERVATION_BEHIND: "a reservation is granted, and its record is older",
  RESERVATION_LOST: "a granted reservation without its record",
  HOLD_DIFFERS: "the record of a hold does not agree with the ledger of its account",
  HOLD_LOST: "held points without the record of their hold",
  PROGRAM_LOST: "the program does not exist",
  BULK_ROW_GRANT_LOST: "a row of a bulk grant has succeeded, and its grant is lost",
  BULK_GRANT_BEHIND: "rows of a bulk grant are granted, and its records are older",
  BULK_ROW_LOST: "a granted row without its sheet",
  BULK_GRANT_LOST: "granted rows without their bulk grant",
  REACTION_COUNT_DIFFERS: "the count of a target does not agree with its reactions",
  MUTE_DIFFERS: "the owner's list of muted targets does not agree with the target",
  INBOX_BEHIND: "reactions or events are later than the inbox of their owner",
  NOTIFICATION_DIFFERS: "an unread notification does not agree with its reactions or events",
  INBOX_DIFFERS: "the counts of an inbox do not agree with its unread notifications",
  EVENT_ID_LOST: "an event without the id by which it is told apart from the next one",
  EVENT_LOST: "the id of an event without the event",
  BULK_BLOCK_LOST: "a block of rows of a bulk grant is lost",
} as const;

type FindingKind = keyof typeof findingKinds;

export interface Finding {
  readonly kind: FindingKind;
  /** The record, by the names of the API: `shop/alice c:order-17`. */
  readonly name: string;
  /** More about this one; may be empty. */
  readonly detail: string;
  /**
   * FOUND: nothing was tried, because no repair was requested or there is none. REFUSED: the repair
   * was refused; the detail has the reason.
   */
  readonly outcome: "FOUND" | "MENDED" | "REFUSED";
}

/** The dependencies of every comparison. */
export interface CompareDeps extends Pick<Deps, keyof RepairDeps | "historyMs">, TableScan {
  /** Whether to mend what can be mended. */
  readonly repair: boolean;
  /** Called for each finding, after it was mended. */
  report(finding: Finding): void;
}

/**
 * Reports a finding and mends it, if that was requested and there is a way. What `mend` says of its
 * result follows the detail, so that nobody reads the difference as the change. Reports refusals.
 * Throws retryable errors: the comparison may be repeated.
 */
export async function found(
  deps: Pick<CompareDeps, "repair" | "report">,
  finding: Omit<Finding, "outcome" | "detail"> & { readonly detail?: string },
  mend?: () => Promise<unknown>,
): Promise<void> {
  const { kind, name, detail = "" } = finding;
  if (!deps.repair || !mend) return deps.report({ kind, name, detail, outcome: "FOUND" });
  const withText = (text: string) => (detail ? `${detail}; ${text}` : text);
  let result: unknown;
  try {
    result = await mend();
  } catch (error) {
    if (!(error instanceof DomainError) || error.retryable) throw error;
    const refusal = withText(`${error.reason}: ${error.message}`);
    return deps.report({ kind, name, detail: refusal, outcome: "REFUSED" });
  }
  const mended = typeof result === "string" ? withText(result) : detail;
  deps.report({ kind, name, detail: mended, outcome: "MENDED" });
}
