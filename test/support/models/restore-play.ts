/** Drills: tables of a workload restored to different moments, and all calls sent again. */
import fc from "fast-check";
import { expect } from "vitest";
import { type Hold, leftPointsOf } from "../../../src/holds/rules/hold.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { nameOf } from "../../../src/platform/engine/item-store.ts";
import type { Records } from "../../../src/platform/ports/records.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { availablePointsOf } from "../../../src/points/rules/account.ts";
import { eventName } from "../../../src/points/rules/ledger.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import { codecOf } from "../../../src/store/codecs.ts";
import type { Finding } from "../../../tools/restore/findings.ts";
import type { Stored } from "../stores/memory-records.ts";
import { type MemoryDeps, memoryDeps } from "../stores/memory-store.ts";
import { programId } from "./bulk-use-cases.ts";
import { randomFrom } from "./random.ts";
import {
  allTables,
  compareAll,
  type History,
  type Moments,
  recordHistory,
  recordsAt,
  restore,
} from "./restore-drill.ts";
import {
  begin,
  createWorkload,
  deletion,
  finishAll,
  type Step,
  users,
} from "./restore-workload.ts";

/** Sends the steps of a workload in their order. A refusal is an answer; any other error fails. */
export async function send(
  deps: Deps,
  workload: readonly Step[][],
  onStep: () => void = () => {},
): Promise<void> {
  for (const steps of workload) {
    onStep();
    const results = await Promise.allSettled(steps.map((step) => step(deps)));
    for (const result of results) {
      if (result.status === "fulfilled") continue;
      if (result.reason instanceof DomainError && !result.reason.retryable) continue;
      throw result.reason;
    }
  }
}

/** Sends the steps at different times of the clock. */
const sendSlowly = ({ deps, clock }: MemoryDeps, workload: readonly Step[][]): Promise<void> =>
  send(deps, workload, () => {
    clock.time += 1_000;
  });

const ofKind = <K extends keyof Records>(records: readonly Stored[], kind: K): Records[K][] =>
  records.filter(({ ref }) => ref.kind === kind).map(({ value }) => value as Records[K]);

/** What is left of the points of a hold, and its entries that its record knows. */
const shownHold = (hold: Hold) =>
  textOf(hold.holdId, leftPointsOf(hold), 1 + hold.captureCount + (hold.release ? 1 : 0));

const textOf = (holdId: string, left: number, count: number): string =>
  `${holdId}: ${left} left, ${count} entries`;

/** The same by the ledgers. */
function heldByLedgers(records: readonly Stored[]): string[] {
  const holds = new Map<string, { left: number; count: number }>();
  for (const { event, type, points } of ofKind(records, "entry")) {
    if (event.origin !== "h") continue;
    const [holdId = ""] = event.eventId.split("/");
    const hold = holds.get(holdId) ?? { left: 0, count: 0 };
    holds.set(holdId, hold);
    hold.left += type === "HELD" ? points : -points;
    hold.count += 1;
  }
  return [...holds].map(([id, { left, count }]) => textOf(id, left, count)).sort();
}

/** The holds of which the records do not say what the ledgers say. */
function splitHolds(records: readonly Stored[]): string[] {
  const [byRecord, byLedger] = [ofKind(records, "hold").map(shownHold), heldByLedgers(records)];
  const apart = [...byRecord, ...byLedger].filter(
    (text) => !(byRecord.includes(text) && byLedger.includes(text)),
  );
  const names = apart.map((text) => `${programId}/${text.slice(0, text.indexOf(":"))}`);
  return [...new Set(names)].sort();
}

/** What callers see of a store, without times and versions. */
function shown(records: readonly Stored[]) {
  const entries = ofKind(records, "entry").map(({ event }) => eventName(event));
  return {
    balances: Object.fromEntries(
      ofKind(records, "account")
        .map((account) => [account.userId, availablePointsOf(account)] as const)
        .sort(),
    ),
    events: entries.filter((name) => !name.startsWith("x:")).sort(),
    reservations: ofKind(records, "reservation")
      .map(({ reservationId, state }) => `${reservationId} ${state}`)
      .sort(),
    holds: ofKind(records, "hold")
      .map((hold) => `${hold.state} ${shownHold(hold)}`)
      .sort(),
    bulkGrants: ofKind(records, "bulkGrant")
      .map(({ bulkGrantId, state, result }) => [bulkGrantId, state, result?.grantedCount])
      .sort(),
    reactions: ofKind(records, "target")
      .map(({ id, counts, deleteTime }) => [id, deleteTime ? "deleted" : counts])
      .sort(),
    reported: ofKind(records, "notificationEvent")
      .map(({ eventId, ownerId }) => `${ownerId} ${eventId}`)
      .sort(),
  };
}

/** The reservations that one table has as granted and the other one not. */
function splitReservations(records: readonly Stored[]): string[] {
  const done = ofKind(records, "reservation").filter(({ state }) => state === "DONE");
  const recorded = new Set(done.map(({ reservationId }) => reservationId));
  const granted = new Set(
    ofKind(records, "event")
      .map(({ entry }) => entry.event)
      .filter(({ origin }) => origin === "r")
      .map(({ eventId }) => eventId),
  );
  return [...recorded, ...granted]
    .filter((id) => recorded.has(id) !== granted.has(id))
    .map((id) => `${programId}/${id}`)
    .sort();
}

const namesOf = (findings: readonly Finding[], prefix: string) =>
  findings
    .filter(({ kind }) => kind.startsWith(prefix))
    .map(({ name }) => name)
    .sort();

interface Drill {
  readonly seed: number;
  /** How many transactions before the end the latest table is restored. */
  readonly before: number;
  /** How many transactions further back each table is. */
  readonly back: readonly number[];
  readonly isTorn: boolean;
}

/** Drills with random moments. */
export const drills = fc.record<Drill>({
  seed: fc.nat(1_000_000),
  before: fc.nat(60),
  back: fc.array(fc.nat(12), { minLength: 6, maxLength: 6 }),
  isTorn: fc.boolean(),
});

const momentsOf = ({ snapshots }: History, { before, back }: Drill): Moments => {
  const latest = Math.max(snapshots.length - 1 - before, 0);
  return Object.fromEntries(
    allTables.map((table, i) => [table, Math.max(latest - (back[i] ?? 0), 0)]),
  ) as Moments;
};

/**
 * Items of accounts and points are torn, of one transaction each by itself. The entries of an
 * account share an item, so that they are torn together.
 */
function tornBy(random: () => number): (record: Stored) => boolean {
  const items = new Map<string, boolean>();
  return ({ ref }) => {
    if (!["accounts", "points"].includes(codecOf(ref.kind).table)) return false;
    const item = ref.kind === "entry" ? ref.id.replace(/#\d+$/, "") : nameOf(ref);
    const isTorn = items.get(item) ?? random() < 0.5;
    items.set(item, isTorn);
    return isTorn;
  };
}

/** Plays one drill. Fails unless each call is made once at its end, and the tables agree. */
export async function playDrill(drill: Drill): Promise<void> {
  const random = randomFrom(drill.seed);
  const workload = [...createWorkload(random, 40), ...(random() < 0.3 ? [[deletion]] : [])];
  const original = memoryDeps();
  await begin(original.deps);
  const history = recordHistory(original);
  await sendSlowly(original, workload);
  const reservations = ofKind(original.store.stored(), "reservation");
  const ids = reservations.map(({ reservationId }) => reservationId);
  const isTorn = tornBy(random);
  const records = recordsAt(
    history,
    momentsOf(history, drill),
    drill.isTorn ? isTorn : () => false,
  );
  await finishAll(original.deps, ids);

  const restored = await restore(history, records, original.clock.time);
  const before = restored.store.dump();
  const found = await compareAll(restored, false);
  expect(restored.store.dump()).toEqual(before);
  if (!drill.isTorn) {
    expect(namesOf(found, "RESERVATION")).toEqual(splitReservations(records));
    expect(namesOf(found, "HOLD")).toEqual(splitHolds(records));
  }

  const mended = await compareAll(restored, true);
  expect(mended.length).toBeGreaterThanOrEqual(found.length > 0 ? 1 : 0);
  const left = await compareAll(restored, true);
  expect(left.filter(({ outcome }) => outcome === "MENDED")).toEqual([]);

  expect(heldByLedgers(restored.store.stored())).toEqual(
    ofKind(restored.store.stored(), "hold").map(shownHold).sort(),
  );

  await sendSlowly(restored, workload);
  await finishAll(restored.deps, ids);
  expect(await compareAll(restored, false)).toEqual([]);
  expect(shown(restored.store.stored())).toEqual(shown(original.store.stored()));
  await expectRightLedgers(restored.deps);
}

async function expectRightLedgers(deps: Deps): Promise<void> {
  for (const userId of users) {
    const { differences } = await verifyAccount(deps, { programId, userId }, false);
    expect(differences).toEqual([]);
  }
}
