/** Tests liability reports on the store in memory: against the ledgers, while accounts change. */
import { describe, expect, test } from "vitest";
import { capturePoints, holdPoints, releaseHold } from "../../../src/holds/use-cases/commands.ts";
import { refundPoints } from "../../../src/holds/use-cases/refund.ts";
import type { Deps, Reader } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { addCounts } from "../../../src/platform/words/sums.ts";
import { shardCount } from "../../../src/points/contract/points.ts";
import { accountRef, programRef } from "../../../src/points/ports/records.ts";
import { type LedgerEntry, noTotals, type Totals } from "../../../src/points/rules/ledger.ts";
import { grantPoints, revokePoints, usePoints } from "../../../src/points/use-cases/commands.ts";
import { expireDueInShard } from "../../../src/points/use-cases/expire-due.ts";
import { getJob, startJob } from "../../../src/points/use-cases/jobs/jobs.ts";
import { liabilityReport, readOutstanding } from "../../../src/points/use-cases/jobs/liability.ts";
import { beforeItemOf } from "../../support/fixtures/account-fixture.ts";
import { makeSteps } from "../../support/fixtures/jobs.ts";
import { randomFrom } from "../../support/models/random.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "p";
const caller = asService("tests");
const hour = 3_600_000;
const day = 24 * hour;
const segments = 3;

/** The lifetime is lengthened from three to five months at this instant. */
const lengthened = Date.UTC(2026, 5, 10);

/** The first instant at which the points of a month are expired, as it was known at an instant. */
function expiryOf(month: number, instant: number): number {
  const after = (months: number) => Date.UTC(Math.floor(month / 12), (month % 12) + months, 1);
  return instant < lengthened || after(3) <= lengthened ? after(3) : after(5);
}

/** What a change was, by its random number. */
function typeOf(kind: number): string {
  if (kind < 4) return "grant";
  if (kind < 10) return "use";
  return kind < 12 ? "hold" : "end of a hold";
}

function setUp(seed: number) {
  const fixture = memoryDeps({ time: Date.UTC(2026, 0, 5) });
  const { deps, store, clock } = fixture;
  store.force(programRef(programId), {
    programId,
    timeZone: "UTC",
    lifetimes: [
      { lifetimeMonths: 3, effectiveTime: 0 },
      { lifetimeMonths: 5, effectiveTime: lengthened },
    ],
    createTime: 0,
  });
  const random = randomFrom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const done: { readonly userId: string; readonly eventId: string; readonly type: string }[] = [];
  let events = 0;

  /** One random change; a refusal is one, too. */
  async function change(): Promise<void> {
    events += 1;
    const userId = `user-${below(4)}`;
    const eventId = `e${events}`;
    const event = { programId, userId, eventId, reason: "", caller, deadline: undefined };
    const kind = below(14);
    const earlier = done.filter((each) => each.userId === userId);
    const ofType = (type: string) => earlier.filter((each) => each.type === type).at(-1)?.eventId;
    const used = ofType("use");
    const granted = ofType("grant");
    const held = ofType("hold");
    const expiredPointsPolicy = random() < 0.5 ? "ORIGINAL_EXPIRY" : "CURRENT_MONTH";
    const points = 1 + below(50);
    try {
      if (kind < 4) await grantPoints(deps, { ...event, points });
      else if (kind < 7) await usePoints(deps, { ...event, points, allowPartial: true });
      else if (kind < 8 && used)
        await refundPoints(deps, {
          ...event,
          useEventId: used,
          points: undefined,
          expiredPointsPolicy,
        });
      else if (kind < 9 && granted)
        await revokePoints(deps, { ...event, grant: { origin: "c", eventId: granted } });
      else if (kind < 10)
        await expireDueInShard(deps, { programId, shard: below(shardCount) }, () => true);
      else if (kind < 12) {
        const until = clock.time + day;
        const input = { ...event, holdId: eventId, points, until, allowPartial: true };
        await holdPoints(deps, { ...input, expiredPointsPolicy });
      } else if (held && kind < 13)
        await capturePoints(deps, {
          ...{ ...event, holdId: held, points: 1 },
          moreFollow: below(2) === 0,
        });
      else if (held) await releaseHold(deps, { ...event, holdId: held });
      done.push({ userId, eventId, type: typeOf(kind) });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }

  /** Random changes, with random times between them. */
  async function changes(count: number, mostMs: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      if (random() < 0.7) clock.time += below(mostMs);
      await change();
    }
  }

  const entries = () =>
    store
      .stored()
      .filter(({ ref }) => ref.kind === "entry")
      .map(({ ref, value }) => ({
        userId: ref.id.split("#")[1] as string,
        entry: value as LedgerEntry,
      }));
  return { ...fixture, below, changes, entries };
}

/** How totals count for what is held. */
const signs: Partial<Totals> = { heldPoints: 1, capturedPoints: -1, releasedPoints: -1 };

/** What the ledgers say at an instant: their entries up to it, and the expiry of what was due. */
function sumsOf(ledgers: ReturnType<ReturnType<typeof setUp>["entries"]>, instant: number) {
  const totals: Record<string, number> = {};
  const months = new Map<number, number>();
  const members = new Map<string, number>();
  const expire = (points: number) => {
    totals.expiredPoints = (totals.expiredPoints ?? 0) + points;
  };
  const recorded = ledgers.filter(({ entry }) => entry.createTime <= instant);
  let held = 0;
  const count = (userId: string, points: number) =>
    members.set(userId, (members.get(userId) ?? 0) + points);
  for (const { userId, entry } of recorded) {
    const total: keyof Totals | undefined = entry.total;
    if (total) totals[total] = (totals[total] ?? 0) + entry.points;
    const changed = total ? (signs[total] ?? 0) * entry.points : 0;
    held += changed;
    count(userId, changed);
    for (const { month, points } of entry.changes) {
      if (expiryOf(month, instant) <= instant) {
        expire(points);
      } else {
        months.set(month, (months.get(month) ?? 0) + points);
        count(userId, points);
      }
    }
  }
  return {
    accounts: new Set(recorded.map(({ userId }) => userId)).size,
    members: [...members.values()].filter((points) => points > 0).length,
    months,
    totals,
    held,
  };
}

const create = (deps: Deps, since?: number) =>
  startJob(deps, liabilityReport, { programId, jobId: "r", caller, request: { since } });

/** Runs the segments of a report in steps of one page, each from the cursor of the one before. */
async function run(deps: Deps, onPage: () => Promise<void> = async () => {}) {
  const job = await getJob(deps, liabilityReport, { programId, jobId: "r" });
  let { sum } = job;
  for (let segment = 0; segment < segments; segment++) {
    const part = { segment, segments };
    const found = await makeSteps(deps, liabilityReport, job, part, onPage);
    sum = addCounts(sum, found.sum);
  }
  return { ...sum, ...(await readOutstanding(deps, job, sum)) };
}

/** The reader with pages of 7 items. */
const inSmallPages = (reader: Reader): Reader => ({
  ...reader,
  accounts: (id, segment, of, { cursor }) => reader.accounts(id, segment, of, { size: 7, cursor }),
});

describe("the sums of a report are those of the ledgers", () => {
  const seeds = Array.from({ length: 20 }, (_, i) => 4_000 + i);
  test.each(seeds)("while accounts change (seed %i)", async (seed) => {
    const { deps, store, clock, changes, entries, below } = setUp(seed);
    await changes(60, 4 * day);
    const since = below(4) === 0 ? undefined : clock.time;
    await changes(60, 4 * day);
    clock.time += 1;
    const { createTime: asOf } = await create(deps, since);
    // No entry of this instant is written any more, as after the time that the workflow waits.
    clock.time += 1;
    const reading = { ...deps, reader: inSmallPages(deps.reader) };
    if (seed % 2 === 0) store.beforeItem = beforeItemOf("item by item");
    const writing = seed % 2 === 0 ? changes(20, 9 * day) : undefined;
    const result = await run(reading, () => (writing ? Promise.resolve() : changes(2, 5 * day)));
    await writing;

    const end = sumsOf(entries(), asOf);
    const start = since === undefined ? undefined : sumsOf(entries(), since);
    const names = Object.keys(noTotals);
    const totals = names.map((name) => [
      name,
      String((end.totals[name] ?? 0) - (start?.totals[name] ?? 0)),
    ]);
    expect(result).toMatchObject({
      ...{ accounts: end.accounts, members: end.members, failed: 0 },
      totals: Object.fromEntries(totals),
    });
    const buckets = [...end.months]
      .filter(([, points]) => points > 0)
      .toSorted(([a], [b]) => a - b)
      .map(([month, points]) => ({
        month,
        points: String(points),
        expireTime: expiryOf(month, asOf),
      }));
    expect(result.buckets).toEqual(buckets);
    const outstanding = [...end.months.values()].reduce((sum, points) => sum + points, 0);
    expect(result.outstanding).toBe(BigInt(outstanding));
    expect(result.held).toBe(end.held === 0 ? undefined : String(end.held));
  });
});

describe("a report", () => {
  const grant = (deps: Deps, userId: string, points: number) =>
    grantPoints(deps, {
      ...{ programId, userId, eventId: "g", reason: "", caller, deadline: undefined },
      points,
    });

  test("names a bad account, which stops no other one", async () => {
    const { deps, store, clock } = setUp(1);
    for (const userId of ["ann", "bea", "cid"]) await grant(deps, userId, 10);
    clock.time += 1;
    await create(deps);
    const bad = accountRef(programId, "bea");
    const { value } = (await deps.reader.get(bad)) ?? expect.fail();
    store.force(bad, { ...value, slots: [10, Number.NaN, 0] });
    const result = await run(deps);
    expect(result).toMatchObject({ accounts: 2, members: 2, failed: 1 });
    expect(result.failures).toEqual([{ userId: "bea", reason: "INTERNAL" }]);
    expect(result.outstanding).toBe(20n);
  });

  test("ends in an outage, and goes on from its progress", async () => {
    const { deps, clock } = setUp(1);
    for (const userId of ["ann", "bea", "cid"]) await grant(deps, userId, 10);
    clock.time += 1;
    await create(deps);
    const accounts = () => Promise.reject(new DomainError("STORE_UNAVAILABLE", "away"));
    const away = { ...deps, reader: { ...deps.reader, accounts } };
    await expect(run(away)).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(await run(deps)).toMatchObject({ accounts: 3, failed: 0 });
  });
});
