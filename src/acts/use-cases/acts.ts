/** Writes the act of a change, and lists acts. */
import type { CallLimits } from "../../platform/ports/call.ts";
import type { Transaction } from "../../platform/ports/engine.ts";
import { badCursor, type PageRequest, type Window } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { ActPage, Deps } from "../ports/deps.ts";
import { actRef } from "../ports/records.ts";
import type { Act, Changed } from "../rules/act.ts";

/**
 * Puts the act of a change into its transaction, so that there is no change without its act, and
 * no act without its change. Does nothing for a call that is not audited.
 */
export function putAct(
  tx: Transaction,
  { audit }: Pick<CallLimits, "audit">,
  time: Instant,
  changed: Changed,
): void {
  if (!audit) return;
  const act = { ...changed, ...audit, time };
  tx.put(actRef(act), act);
}

/**
 * Puts the act of a call that makes several transactions into one of them. The time is that of
 * the call, so that all of them name the same act: one that finds it puts none, and of two whose
 * answers are lost the store takes only one.
 */
export function putActOnce(
  tx: Transaction,
  { audit }: Pick<CallLimits, "audit">,
  time: Instant,
  changed: Changed,
): void {
  if (!audit || tx.get(actRef({ ...changed, ...audit, time }))) return;
  putAct(tx, { audit }, time, changed);
}

/** The acts that are listed: of a program in a window. */
interface ActFilter {
  readonly programId: string;
  /** Lists acts of this subject only. */
  readonly subject?: string | undefined;
  /** Lists acts about this user only. */
  readonly userId?: string | undefined;
  readonly window: Window & { readonly start: Instant };
}

const dayMs = 86_400_000;

/** A page of a list ends after so many days, so that no caller waits for a year without acts. */
const maxDays = 31;

/** An act of this moment is decided by the clock of another server, which may be a little ahead. */
const aheadMs = 60_000;

/** Lists acts, the newest first. Refusal: INVALID_REQUEST for a cursor of another list. */
export async function listActs(
  { reader, clock }: Pick<Deps, "reader" | "clock">,
  { programId, subject, userId, window }: ActFilter,
  page: PageRequest,
): Promise<ActPage> {
  if (window.end !== undefined && window.end <= window.start) return { items: [], unreadable: [] };
  if (userId !== undefined) {
    return reader.actsAboutUser({ programId, userId }, subject, window, page);
  }
  if (subject !== undefined) return reader.actsOfSubject(programId, subject, window, page);
  // No day is read that is still to come, however late the window ends.
  const now = (await clock.now()).wall + aheadMs;
  const end = Math.min(window.end ?? now, now);
  const items: Act[] = [];
  const unreadable: string[] = [];
  let { day, inner } = cursorOf(page.cursor) ?? { day: dayOf(end - 1), inner: undefined };
  for (let days = 0; day >= dayOf(window.start); days++) {
    const size = page.size - items.length - unreadable.length;
    if (size === 0 || days === maxDays) {
      return { items, unreadable, cursor: `${day} ${inner ?? ""}` };
    }
    const found = await reader.actsOfDay(programId, day * dayMs, window, { size, cursor: inner });
    items.push(...found.items);
    unreadable.push(...found.unreadable);
    inner = found.cursor;
    if (inner === undefined) day -= 1;
  }
  return { items, unreadable };
}

/** The number of a day in UTC since 1970. */
const dayOf = (time: Instant): number => Math.floor(time / dayMs);

/** A cursor is the number of a day and the cursor of its list, which is empty at its beginning. */
function cursorOf(cursor: string | undefined) {
  if (cursor === undefined) return undefined;
  const [, day, inner] = /^(\d{1,7}) (.*)$/.exec(cursor) ?? [];
  if (day === undefined) throw badCursor();
  return { day: Number(day), inner: inner || undefined };
}
