/** The use case that notifies members of points that expire at the next month boundary. */

import { formatMonth, type Month, monthStart } from "../../../platform/words/month.ts";
import { failingSoon } from "../../../platform/work/failing-soon.ts";
import type { AccountName } from "../../../points/ports/points.ts";
import { accountRef } from "../../../points/ports/records.ts";
import { expiredMonth } from "../../../points/rules/account.ts";
import { announcedMonth, pointsExpiringAt } from "../../../points/rules/expiry-notice.ts";
import {
  type AccountsCursor,
  type DueAccountsCounts,
  type DueAccountsShard,
  sweepDueAccounts,
} from "../../../points/use-cases/sweep-accounts.ts";
import type { Deps } from "../../ports/deps.ts";
import { type NotifyDeps, notifyMember } from "./notify.ts";

const concurrency = 32;

/** The counts of accounts whose owners were notified, or of which nothing expires. */
type NotifiedCounts = DueAccountsCounts<"notified" | "unaffected">;

/** The progress within a shard, from which another call can continue. */
export type NotifyProgress = NotifiedCounts & AccountsCursor;

/**
 * Returns the month of the points that members are notified of now, if any. It reads the stored
 * program, because the notices may have been set a moment ago. Throws PROGRAM_NOT_FOUND.
 */
export async function readAnnouncedMonth(
  deps: Pick<Deps, "clock" | "programs">,
  programId: string,
): Promise<Month | undefined> {
  const program = await deps.programs.read(programId);
  const { calendar } = await deps.clock.now();
  return announcedMonth(program, calendar);
}

/**
 * Notifies the owners of the accounts of one shard, from the cursor on, until `shouldContinue`
 * returns false, as `expireDueInShard` does its work. A page may be processed again: the event id
 * names the program and the month, so that a member is notified once, with the points of the first
 * time. Throws PROGRAM_NOT_FOUND, PROGRAM_STALE, and the error of an outage.
 */
export async function notifyExpiringInShard(
  deps: NotifyDeps & Pick<Deps, "reader" | "clock" | "programs" | "paceSweep">,
  input: DueAccountsShard & { readonly month: Month } & Partial<NotifyProgress>,
  shouldContinue: (progress: NotifyProgress) => boolean,
  onFailed: (userId: string, error: unknown) => void,
): Promise<NotifyProgress> {
  const { programId, shard, month, notified = 0, unaffected = 0 } = input;
  const { failed = 0, failures = [] } = input;
  const program = await deps.programs.get(programId);
  const upTo = expiredMonth(program, monthStart(program.timeZone, month));
  const brief = failingSoon(deps);
  const process = (account: AccountName) => notifyExpiring(brief, account, month);
  return sweepDueAccounts(
    deps,
    { programId, shard, month: upTo, concurrency, process, onFailed },
    { notified, unaffected, failed, failures },
    input,
    shouldContinue,
  );
}

/** Returns which of the counts the account adds to. */
async function notifyExpiring(
  deps: NotifyDeps & Pick<Deps, "reader" | "clock" | "programs" | "paceSweep">,
  { programId, userId }: AccountName,
  month: Month,
): Promise<"notified" | "unaffected"> {
  const program = await deps.programs.get(programId);
  const account = (await deps.reader.get(accountRef(programId, userId)))?.value;
  const { calendar } = await deps.clock.now();
  const points = account ? pointsExpiringAt(account, program, month, calendar) : 0;
  if (points === 0) return "unaffected";
  await deps.paceSweep(`notices/${programId}`);
  await notifyMember(deps, {
    programId,
    userId,
    kind: "points-expiring",
    eventId: `x.${programId}.${formatMonth(month)}`,
    label: String(points),
  });
  return "notified";
}
