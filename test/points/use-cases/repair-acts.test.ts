/** Tests that a repair of an account, of however many parts, writes one act. */
import { expect, test } from "vitest";
import type { Act } from "../../../src/acts/rules/act.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { byteLength } from "../../../src/platform/words/display-text.ts";
import { accountRef, entryRef } from "../../../src/points/ports/records.ts";
import type { Account } from "../../../src/points/rules/account.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import { type MemoryDeps, memoryDeps } from "../../support/stores/memory-store.ts";

const programId = "p";
const userId = "u";
const name = { programId, userId };
const caller = asService("ops");
const audit = { caller, via: "CALL", method: "VerifyAccount", requestId: "r" } as const;

/** An account with three entries of 10 points. */
async function openAccount(): Promise<MemoryDeps> {
  const memory = memoryDeps();
  await createProgram(memory.deps, { programId, timeZone: "UTC", lifetimeMonths: 12 });
  for (const eventId of ["a", "b", "c"]) {
    const event = { ...name, eventId, reason: "", caller };
    await grantPoints(memory.deps, { ...event, points: 10 });
  }
  return memory;
}

/** Repairs it in another process: the first one remembers the account for a moment. */
const repair = ({ process }: MemoryDeps) => verifyAccount(process(), name, true, { audit });

const actsOf = ({ store }: MemoryDeps) =>
  store.stored().flatMap(({ ref, value }) => (ref.kind === "act" ? [value as Act] : []));

const accountOf = async ({ store }: MemoryDeps) =>
  (await store.reader.get(accountRef(programId, userId)))?.value as Account;

test("entries are restored and the account is rebuilt under one act", async () => {
  const memory = await openAccount();
  const { store } = memory;
  store.force(entryRef(programId, userId, 2), undefined);
  store.force(accountRef(programId, userId), { ...(await accountOf(memory)), frozen: true });
  const found = await repair(memory);
  expect(found).toMatchObject({ repaired: true, restoredEntryNumbers: [2] });
  expect(actsOf(memory)).toMatchObject([
    { objectType: "account", objectId: userId, userId, method: "VerifyAccount" },
  ]);
  expect(actsOf(memory)[0]?.changes).toContainEqual({
    field: "frozen",
    before: "true",
    after: "false",
  });
  await repair(memory);
  expect(actsOf(memory)).toHaveLength(1);
});

test("an act is written before a wrong snapshot is removed", async () => {
  const memory = await openAccount();
  const { store } = memory;
  const ref = entryRef(programId, userId, 3);
  const entry = (await store.reader.get(ref))?.value as LedgerEntry;
  const { totals } = await accountOf(memory);
  const months = Array.from({ length: 30 }, (_, i) => ({ month: 24_000 + i, points: 1_000_000 }));
  store.force(ref, { ...entry, snapshot: { months, totals } });
  const found = await repair(memory);
  expect(found.repaired).toBe(true);
  expect(actsOf(memory)).toMatchObject([{ changes: [{ field: "entries[3].snapshot" }] }]);
  const [{ changes } = { changes: [] }] = actsOf(memory);
  for (const { before, after } of changes) {
    expect(byteLength(before)).toBeLessThanOrEqual(128);
    expect(byteLength(after)).toBeLessThanOrEqual(128);
  }
});

test("a repair that is refused or finds nothing writes none", async () => {
  const memory = await openAccount();
  await repair(memory);
  memory.store.force(entryRef(programId, userId, 1), undefined);
  memory.store.force({ kind: "event", id: `${programId}#${userId}#c:a` }, undefined);
  await expect(repair(memory)).rejects.toMatchObject({ reason: "LEDGER_DAMAGED" });
  expect(actsOf(memory)).toEqual([]);
});
