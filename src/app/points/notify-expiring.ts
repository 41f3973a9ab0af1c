/** The use case that notifies members of points that expire at the next month boundary. */

import type {
  AnnouncedMonth,
  NotifyShardInput,
  NotifyShardResult,
} from "../../contract/notices.ts";
import { announcedMonth, pointsExpiringAt } from "../../domain/expiry-notice.ts";
import { formatMonth, type Month, monthStart, parseMonth } from "../../domain/month.ts";
import { expiredMonth, type Program } from "../../domain/program.ts";
import { type NotifyDeps, notifyMember } from "../notifications/notify.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef } from "../ports/records.ts";
import { type DueAccountsPlace, sweepDueAccounts } from "./sweep-due-accounts.ts";

/** The progress within a shard, from which another call can continue. */
export type NotifyShardProgress = NotifyShardResult & DueAccountsPlace;

/**
 * Returns the month of the points that members are notified of now, if any. It reads the stored
 * program, because the notices may have been set a moment ago. Throws PROGRAM_NOT_FOUND.
 */
export async function readAnnouncedMonth(
  deps: Pick<Deps, "clock" | "programs">,
  programId: string,
): Promise<AnnouncedMonth> {
  const program = await deps.programs.read(programId);
  const { calendar } = await deps.clock.now();
  const month = announcedMonth(program, calendar);
  return month === undefined ? {} : { month: formatMonth(month) };
}

/**
 * Notifies the owners of the accounts of one shard, from the cursor on, until `shouldContinue`
 * returns false, as `expireDueInShard` does its work. A page may be processed again: the event id
 * names the program and the month, so that a member is notified once, with the points of the first
 * time. Throws PROGRAM_NOT_FOUND, PROGRAM_STALE, and the error of an outage.
 */
export async function notifyExpiringInShard(
  deps: NotifyDeps & Pick<Deps, "reader" | "clock" | "programs">,
  input: NotifyShardInput & Partial<NotifyShardProgress>,
  shouldContinue: (progress: NotifyShardProgress) => boolean,
  onFailed: (userId: string, error: unknown) => void,
): Promise<NotifyShardResult> {
  const { program_id: programId, shard, notified = 0, unaffected = 0 } = input;
  const { failed = 0, failures = [] } = input;
  const month = parseMonth(input.month);
  const program = await deps.programs.get(programId);
  const upTo = expiredMonth(program, monthStart(program.timeZone, month));
  const process = ({ userId }: AccountName) => notifyExpiring(deps, program, month, userId);
  return sweepDueAccounts(
    deps,
    { programId, shard, month: upTo, process, onFailed },
    { notified, unaffected, failed, failures },
    input,
    shouldContinue,
  );
}

/** Returns which count of `NotifyShardResult` the account adds to. */
async function notifyExpiring(
  deps: NotifyDeps & Pick<Deps, "reader" | "clock">,
  program: Program,
  month: Month,
  userId: string,
): Promise<"notified" | "unaffected"> {
  const { programId } = program;
  const account = (await deps.reader.get(accountRef(programId, userId)))?.value;
  const { calendar } = await deps.clock.now();
  const points = account ? pointsExpiringAt(account, program, month, calendar) : 0;
  if (points === 0) return "unaffected";
  await notifyMember(deps, {
    programId,
    userId,
    kind: "points-expiring",
    eventId: `x.${programId}.${formatMonth(month)}`,
    label: String(points),
  });
  return "notified";
}
