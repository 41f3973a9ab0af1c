/** Short ways to say what an account and a program are. */
import type { Account } from "../../src/domain/account.ts";
import { buckets } from "../../src/domain/account.ts";
import type { EventKey, LedgerEntry } from "../../src/domain/ledger.ts";
import { formatMonth } from "../../src/domain/month.ts";
import {
  type Change,
  type Event,
  type ExpiredPoints,
  grant,
  refund,
  revoke,
  setFrozen,
  use,
} from "../../src/domain/points.ts";
import type { Program } from "../../src/domain/program.ts";

export const program = (lifetime: number, more: Partial<Program> = {}): Program => ({
  id: "p",
  zone: "Asia/Tokyo",
  lifetimes: [{ months: lifetime, from: 0 }],
  createTime: 0,
  ...more,
});

/** Noon of a day in Tokyo: `"2026-01-15"`. */
export const day = (text: string): number => Date.parse(`${text}T12:00:00+09:00`);

export const event = (id: string): Event => ({
  event: { origin: "c", id },
  reason: "",
  caller: "test",
});

/** An account that remembers its event keys, so that a test reads like a story. */
export function createStory(of: Program) {
  let account: Account | undefined;
  let current = of;
  const keys = new Map<string, EventKey>();
  const entries: LedgerEntry[] = [];

  function take(id: string, change: Change): LedgerEntry {
    account = change.account;
    entries.push(...change.entries);
    const balance = change.account.slots.reduce((sum, points) => sum + points, 0);
    keys.set(id, { hash: "", entry: change.entry, balance, undone: 0 });
    return change.entry;
  }

  function undo(id: string, undone: string, change: Change): LedgerEntry {
    const key = keys.get(undone) as EventKey;
    keys.set(undone, { ...key, undone: key.undone + change.entry.points });
    return take(id, change);
  }

  const scene = (now: number) => ({ program: current, user: "u", account, now });
  const key = (id: string) => keys.get(id) as EventKey;

  return {
    get account(): Account {
      return account as Account;
    },
    entries,
    key,
    change(to: Program): void {
      current = to;
    },
    grant: (now: number, id: string, points: number) =>
      take(id, grant(scene(now), event(id), points)),
    use: (now: number, id: string, points: number, partial = false) =>
      take(id, use(scene(now), event(id), points, partial)),
    refund: (
      now: number,
      id: string,
      undone: string,
      points?: number,
      expired: ExpiredPoints = "ORIGINAL_EXPIRY",
    ) => undo(id, undone, refund(scene(now), event(id), key(undone), points, expired)),
    revoke: (now: number, id: string, undone: string) =>
      undo(id, undone, revoke(scene(now), event(id), key(undone))),
    freeze: (now: number, id: string, frozen = true) =>
      take(id, setFrozen(scene(now), event(id), frozen)),
    /** Puts an account in place, as a sweep does. */
    put(next: Account, written: readonly LedgerEntry[]): void {
      account = next;
      entries.push(...written);
    },
  };
}

/** Months with points as text: `{ "2026-01": 10 }`. */
export const months = (account: Account): Record<string, number> =>
  Object.fromEntries(buckets(account).map(({ month, points }) => [formatMonth(month), points]));

/** Changes as text. */
export const changes = (entry: LedgerEntry): [string, number][] =>
  entry.changes.map(({ month, points }) => [formatMonth(month), points]);
