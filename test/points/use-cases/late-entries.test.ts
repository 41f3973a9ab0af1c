/** Tests that nothing which was called final changes, while writes arrive up to 15 minutes late. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import type { ItemStore } from "../../../src/platform/engine/item-store.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import type { AccountName } from "../../../src/points/ports/points.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { ledgerExport } from "../../../src/points/use-cases/jobs/export-ledger.ts";
import { getPastBalance } from "../../../src/points/use-cases/past-balance.ts";
import { jobOf } from "../../support/fixtures/jobs.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { exportPorts } from "../../support/servers/export-ports.ts";

const minute = 60_000;
const users = ["u", "v", "w"];

interface Step {
  /** Passes before the step. */
  readonly passMs: number;
  readonly userId: string;
  /** How long the network holds the grant; 0: not at all. */
  readonly heldMs: number;
  /** The age of the instant of which the balances are read. */
  readonly ageMs: number;
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    passMs: fc.integer({ min: 0, max: 6 * minute }),
    userId: fc.constantFrom(...users),
    heldMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 15 * minute })),
    ageMs: fc.integer({ min: 0, max: 20 * minute }),
  }),
  { minLength: 1, maxLength: 25 },
);

/** A program whose grants are sent at once, or arrive later than the caller waits. */
function setUp() {
  const { deps, store, clock } = createReservationFixture();
  const onTheWay: { readonly at: number; readonly arrive: () => Promise<unknown> }[] = [];
  let count = 0;

  async function grant(userId: string, heldMs: number): Promise<void> {
    const sent = Promise.withResolvers<void>();
    const slow: ItemStore = {
      ...store.itemStore,
      commit(writes, token) {
        const arrive = () => store.itemStore.commit(writes, token);
        onTheWay.push({ at: clock.time + heldMs, arrive });
        sent.resolve();
        return new Promise(() => undefined);
      },
    };
    const engine = heldMs > 0 ? new CommitEngine({ store: slow, clock }) : deps.engine;
    const change = { programId, userId, caller: asService("tests"), reason: "" };
    count += 1;
    const request = { ...change, eventId: `e-${count}`, points: 1, deadline: undefined };
    const answered = grantPoints({ ...deps, engine }, request).catch(() => undefined);
    await Promise.race([sent.promise, answered]);
  }

  /** Lets time pass. What is on the way arrives meanwhile. */
  async function pass(ms: number): Promise<void> {
    const end = clock.time + ms;
    const arriving = onTheWay.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
    for (const each of arriving) {
      onTheWay.splice(onTheWay.indexOf(each), 1);
      clock.time = each.at;
      await each.arrive();
    }
    clock.time = end;
  }

  const pointsAt = async (name: AccountName, time: number) => {
    const { availablePoints, final } = await getPastBalance(deps, name, time);
    return { points: availablePoints, final };
  };

  /** The entries of an export up to an instant; undefined if it is refused. */
  async function exportedUntil(end: number): Promise<number | undefined> {
    const request = { destination: "audit", end };
    try {
      const job = jobOf(ledgerExport, programId, request, clock.time);
      ledgerExport.check?.({ ...deps, ...exportPorts() }, job);
    } catch {
      return undefined;
    }
    const query = { from: 1, to: 100, newestFirst: false, types: [] };
    const lists = users.map((userId) =>
      allItems((page) => deps.reader.entries({ programId, userId }, query, page), 100),
    );
    const entries = (await Promise.all(lists)).flat();
    return entries.filter(({ createTime }) => createTime < end).length;
  }
  return { clock, grant, pass, pointsAt, exportedUntil };
}

test("balances that are final and exports that are permitted stay as they were", async () => {
  let [finals, exports, changed] = [0, 0, 0];
  const property = fc.asyncProperty(steps, async (all) => {
    const { clock, grant, pass, pointsAt, exportedUntil } = setUp();
    const answers: (() => Promise<void>)[] = [];
    for (const { passMs, userId, heldMs, ageMs } of all) {
      await pass(passMs);
      await grant(userId, heldMs);
      const time = clock.time - ageMs;
      for (const name of users.map((each) => ({ programId, userId: each }))) {
        const { points, final } = await pointsAt(name, time);
        answers.push(async () => {
          const later = await pointsAt(name, time);
          if (final) expect(later).toEqual({ points, final: true });
          finals += Number(final);
          changed += Number(later.points !== points);
        });
      }
      const exported = await exportedUntil(time);
      if (exported === undefined) continue;
      exports += 1;
      answers.push(async () => expect(await exportedUntil(time)).toBe(exported));
    }
    await pass(20 * minute);
    for (const check of answers) await check();
  });
  await fc.assert(property, { numRuns: 40, seed: 45 });
  // Of each kind there were enough to find a mistake.
  expect(finals).toBeGreaterThan(300);
  expect(exports).toBeGreaterThan(40);
  expect(changed).toBeGreaterThan(10);
});
