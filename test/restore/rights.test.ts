/** Tests that comparisons of restored tables use all that their policy allows. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { targetRef } from "../../src/feed/ports/records.ts";
import { react } from "../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../src/feed/use-cases/reactions/targets.ts";
import { holdPoints } from "../../src/holds/use-cases/commands.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { accountRef, entryRef, eventRef } from "../../src/points/ports/records.ts";
import { freezeAccount } from "../../src/points/use-cases/commands.ts";
import { createReservation } from "../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../src/reservations/use-cases/execute.ts";
import { allowedTo } from "../support/deploy/policies.ts";
import { createAccountFixture, grant } from "../support/fixtures/account-fixture.ts";
import { compareAll } from "../support/models/restore-drill.ts";
import { drills, playDrill } from "../support/models/restore-play.ts";
import { assertSeeds } from "../support/models/seeded.ts";
import type { MemoryDeps } from "../support/stores/memory-store.ts";

/** Notes what this test uses, and returns how to read it. */
async function recordAccess(): Promise<() => Promise<string[]>> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-rights-"));
  const file = join(folder, "used");
  process.env.TEST_USED_ACCESS = file;
  onTestFinished(async () => {
    delete process.env.TEST_USED_ACCESS;
    await rm(folder, { recursive: true });
  });
  return async () => {
    const lines = new Set((await readFile(file, "utf8")).trimEnd().split("\n"));
    return [...lines].map((line) => line.replace(/^restore /, ""));
  };
}

const name = { programId: "p", userId: "u", reason: "", caller: asService("test") };

/** An account whose first grant its ledger and its keys have lost. */
async function loseAccount({ deps, store }: MemoryDeps): Promise<void> {
  await grant(deps, "g", 10);
  store.force(entryRef("p", "u", 1), undefined);
  store.force(eventRef("p", "u", "c:g"), undefined);
}

/** An account and a ledger that have lost the call of an event key. */
async function loseEntry({ deps, store }: MemoryDeps): Promise<void> {
  for (const eventId of ["g", "h", "i"]) await grant(deps, eventId, 1);
  for (const number of [2, 3]) store.force(entryRef("p", "u", number), undefined);
  store.force(eventRef("p", "u", "c:i"), undefined);
}

/** A ledger that has lost an entry, of which the key of its event has a copy. */
async function loseCopiedEntry({ deps, store }: MemoryDeps): Promise<void> {
  for (const eventId of ["g", "h"]) await grant(deps, eventId, 1);
  store.force(entryRef("p", "u", 2), undefined);
}

/** A hold of which its account has nothing. */
async function loseHold({ deps, store, clock }: MemoryDeps): Promise<void> {
  await grant(deps, "g", 10);
  const before = (await deps.reader.get(accountRef("p", "u")))?.value;
  await holdPoints(deps, {
    ...{ ...name, holdId: "h", points: 5, until: clock.time + 86_400_000, allowPartial: false },
    expiredPointsPolicy: "ORIGINAL_EXPIRY",
  });
  store.force(accountRef("p", "u"), before);
  store.force(entryRef("p", "u", 2), undefined);
}

/** A reservation whose grant is lost, and refused when it is made again. */
async function loseGrant({ deps, store }: MemoryDeps, process: () => Deps): Promise<void> {
  await grant(deps, "g", 10);
  await createReservation(deps, {
    ...{ ...name, reservationId: "r", points: 5, executeTime: 0, allowPastExecuteTime: true },
  });
  const before = (await deps.reader.get(accountRef("p", "u")))?.value;
  await executeReservation(deps, { programId: "p", reservationId: "r", userId: "u" });
  store.force(accountRef("p", "u"), before);
  store.force(entryRef("p", "u", 2), undefined);
  store.force(eventRef("p", "u", "r:r"), undefined);
  await freezeAccount(process(), { ...name, eventId: "f", deadline: undefined });
}

/** A target that counts a reaction more than it has. */
async function miscount({ deps, store }: MemoryDeps): Promise<void> {
  const target = { type: "post", id: "one" };
  await registerTarget(deps, { target, ownerId: "o", title: "", link: "" });
  await react(deps, { target, kind: "like", userId: "ann", displayName: "ann" });
  const ref = targetRef(target);
  const found = (await deps.reader.get(ref))?.value;
  if (!found) throw new Error("there is no target");
  store.force(ref, { ...found, counts: { like: 2 } });
}

test("a comparison uses all that its policy allows, and nothing else", async () => {
  const used = await recordAccess();
  await assertSeeds(fc.asyncProperty(drills, playDrill), [{ seed: 1, numRuns: 8 }]);
  for (const [damage, line] of [
    [loseAccount, "ACCOUNT_DIFFERS MENDED"],
    [loseCopiedEntry, "ACCOUNT_DIFFERS MENDED"],
    [loseEntry, "LEDGER_ENTRY_LOST MENDED"],
    [loseHold, "HOLD_DIFFERS MENDED"],
    [loseGrant, "RESERVATION_GRANT_LOST REFUSED"],
    [miscount, "REACTION_COUNT_DIFFERS MENDED"],
  ] as const) {
    const fixture = createAccountFixture();
    await damage(fixture, fixture.process);
    const findings = await compareAll({ ...fixture, deps: fixture.process() }, true);
    expect(findings.map(({ kind, outcome }) => `${kind} ${outcome}`)).toContain(line);
    const again = await compareAll({ ...fixture, deps: fixture.process() }, false);
    expect(again).toEqual([]);
  }
  expect((await used()).toSorted()).toEqual([...allowedTo("restore")].toSorted());
});
