/** A caller of points during an upgrade, and the check of what it was answered. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Meguri } from "@meguri/client";
import { expect } from "vitest";
import type { LedgerEntry } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";

/** An acknowledged change: the number of its ledger entry, and what it did to the balance. */
interface Change {
  readonly userId: string;
  readonly eventId: string;
  readonly number: bigint;
  readonly points: bigint;
}

const pauseMs = 200;

/** Grants and uses points one call after the other, and sends some calls twice. */
export async function callPoints(
  { points }: Meguri,
  name: string,
  isOver: () => boolean,
): Promise<Change[]> {
  const changes: Change[] = [];
  for (let n = 0; !isOver(); n++) {
    const call = { userId: `points-${n % 4}`, eventId: `${name}-${n}` };
    const grant = () => points.grantPoints({ ...call, points: 10n });
    const { entry } = await grant();
    changes.push({ ...call, number: entry?.number ?? 0n, points: 10n });
    if (n % 3 === 0) {
      const again = await grant();
      expect(again).toMatchObject({ replayed: true, entry: { number: entry?.number } });
    }
    if (n % 2 === 0) {
      const use = { ...call, eventId: `${name}-${n}-use` };
      const used = await points.usePoints({ ...use, points: 5n });
      changes.push({ ...use, number: used.entry?.number ?? 0n, points: -5n });
    }
    await sleep(pauseMs);
  }
  return changes;
}

/** Each change is in its ledger once and with its number, and the numbers have no gaps. */
export async function checkPoints(client: Meguri, changes: readonly Change[]): Promise<void> {
  for (const [userId, own] of Map.groupBy(changes, (change) => change.userId)) {
    const entries = await ledgerOf(client, userId);
    const expected = own.toSorted((a, b) => Number(a.number - b.number));
    expect(entries.map(({ number, event }) => [number, event?.eventId])).toEqual(
      expected.map(({ eventId }, i) => [BigInt(i + 1), eventId]),
    );
    expect(expected.map(({ number }) => number)).toEqual(entries.map(({ number }) => number));
    const { balance } = await client.points.getBalance({ userId });
    expect(balance?.availablePoints).toBe(own.reduce((sum, { points }) => sum + points, 0n));
  }
}

/** All entries of an account, the oldest first. */
export async function ledgerOf({ points }: Meguri, userId: string): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  let pageToken = "";
  do {
    const page = await points.listLedgerEntries({ userId, pageSize: 200, pageToken });
    entries.push(...page.entries);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return entries.toReversed();
}
