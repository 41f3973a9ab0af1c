/** Tests what a comparison of restored tables finds that a drill meets seldom or never. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { blockOutcomeRef, bulkGrantRef } from "../../src/bulk-grants/ports/records.ts";
import { hashOfRow } from "../../src/bulk-grants/use-cases/execute-row.ts";
import { inboxRef, mutedTargetRef, unreadGroupRef } from "../../src/feed/ports/records.ts";
import { react } from "../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget, setTargetMuted } from "../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { type Month, monthAt } from "../../src/platform/words/month.ts";
import { isSameRequest } from "../../src/platform/work/idempotency.ts";
import { accountRef, entryRef, eventRef, programRef } from "../../src/points/ports/records.ts";
import { freezeAccount, grantPoints, usePoints } from "../../src/points/use-cases/commands.ts";
import { reservationRef } from "../../src/reservations/ports/records.ts";
import { createReservation } from "../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../src/reservations/use-cases/execute.ts";
import { pauseProgramReservations } from "../../src/reservations/use-cases/pause.ts";
import { compareTables } from "../../tools/restore/compare.ts";
import { type Finding, findingKinds } from "../../tools/restore/findings.ts";
import { runAs } from "../support/deploy/run-as.ts";
import { createAccountFixture, grant, refund, use } from "../support/fixtures/account-fixture.ts";
import { openStore, runAll, start, submit, validate } from "../support/fixtures/bulk-steps.ts";
import { programId } from "../support/models/bulk-use-cases.ts";
import { compareAll } from "../support/models/restore-drill.ts";
import type { MemoryDeps } from "../support/stores/memory-store.ts";

const linesOf = (findings: readonly Finding[]) =>
  findings.map(({ kind, name, outcome }) => `${kind} ${name} ${outcome}`).sort();

test("the docs say of each kind of finding what to do", () => {
  const docs = readFileSync("docs/run/restore.md", "utf8");
  const rows = [...docs.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, kind]) => kind);
  expect(rows.toSorted()).toEqual(Object.keys(findingKinds).sort());
});

test("a lost event key is rebuilt, so that the same call changes nothing", async () => {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  await grant(deps, "g", 10);
  await use(deps, "u", 4);
  await refund(deps, "x", "u");
  for (const name of ["c:g", "c:u"]) store.force(eventRef("p", "u", name), undefined);
  expect(linesOf(await compareAll(fixture, true))).toEqual([
    "EVENT_KEY_LOST p/u c:g MENDED",
    "EVENT_KEY_LOST p/u c:u MENDED",
  ]);
  const again = fixture.process();
  expect(await grant(again, "g", 10)).toMatchObject({ replayed: true });
  expect(await use(again, "u", 4)).toMatchObject({ replayed: true });
  await expect(refund(again, "y", "u", 1)).rejects.toMatchObject({ reason: "LIMIT_EXCEEDED" });
  expect((await deps.reader.get(accountRef("p", "u")))?.value.last).toBe(3);
});

test("a rebuilt key knows every request that the entry may be of, and no other one", async () => {
  const memory = await openStore();
  const { deps, store } = memory;
  const month = monthAt("Asia/Tokyo", memory.clock.time);
  const common = { programId, userId: "ada", reason: "", caller: asService("test") };
  const send = (from: Deps, eventId: string, expireMonth: Month | undefined) =>
    grantPoints(from, { ...common, eventId, points: 5, expireMonth, deadline: undefined });
  const months = { none: undefined, last: month + 11, early: month + 2 };
  for (const [id, expireMonth] of Object.entries(months)) await send(deps, id, expireMonth);
  const take = (from: Deps, points: number) =>
    usePoints(from, { ...common, eventId: "use", points, allowPartial: true, deadline: undefined });
  await take(deps, 3);
  await submit(deps, "spring", { ada: 5 });
  await validate(deps, "spring", 1);
  await start(deps, "spring", 1);
  await runAll(deps, "spring", 1, 1);
  const row = eventRef(programId, "ada", "b:spring_ada");
  const keys = ["none", "last", "early", "use"].map((id) => eventRef(programId, "ada", `c:${id}`));
  for (const ref of [...keys, row]) store.force(ref, undefined);
  expect(linesOf(await compareAll(memory, true))).toHaveLength(5);

  const again = memory.process();
  const reused = { reason: "ID_REUSED" };
  for (const [id, expireMonth] of Object.entries(months)) {
    expect(await send(again, id, expireMonth)).toMatchObject({ replayed: true });
    await expect(send(again, id, month + 3)).rejects.toMatchObject(reused);
  }
  await expect(send(again, "early", undefined)).rejects.toMatchObject(reused);
  expect(await take(again, 3)).toMatchObject({ replayed: true });
  await expect(take(again, 4)).rejects.toMatchObject(reused);
  const hash = (await again.reader.get(row))?.value.hash ?? "";
  const isRow = (expireMonth: Month | undefined) =>
    isSameRequest(hash, hashOfRow({ userId: "ada", points: 5 }, { expireMonth }));
  expect([undefined, month + 11, month + 2].map(isRow)).toEqual([true, true, false]);
});

test("an account ahead of its ledger is set back, and the call is made once", async () => {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  await grant(deps, "g", 10);
  await grant(deps, "h", 20);
  store.force(entryRef("p", "u", 2), undefined);
  store.force(eventRef("p", "u", "c:h"), undefined);
  expect(linesOf(await compareAll(fixture, true))).toEqual(["ACCOUNT_DIFFERS p/u MENDED"]);
  const again = await grant(fixture.process(), "h", 20);
  expect(again).toMatchObject({ replayed: false, availablePoints: 30, entry: { number: 2 } });
  expect(await compareAll(fixture, false)).toEqual([]);
});

test("an inbox of before its reactions shows them again, and gives no version twice", async () => {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  const target = { type: "post", id: "one" };
  await registerTarget(deps, { target, ownerId: "o", title: "", link: "" });
  const like = (from: Deps, userId: string) =>
    react(from, { target, kind: "like", userId, displayName: userId });
  for (const userId of ["ann", "ben"]) await like(deps, userId);
  store.force(inboxRef("o"), undefined);
  store.force(unreadGroupRef("o", target, "like"), undefined);
  expect(linesOf(await compareAll(fixture, true))).toEqual(["INBOX_BEHIND o MENDED"]);
  expect((await deps.reader.get(inboxRef("o")))?.value).toMatchObject({
    ...{ version: 2, notificationCount: 1, actorCount: 2 },
  });
  await like(fixture.process(), "cyd");
  const group = (await deps.reader.get(unreadGroupRef("o", target, "like")))?.value;
  expect(group?.latestMembers.map(({ version }) => version)).toEqual([3, 2, 1]);
  expect(await compareAll(fixture, false)).toEqual([]);
});

test("rows without their bulk grant, and rows of which it does not know, are named", async () => {
  const memory = await openStore();
  const { deps, store } = memory;
  await submit(deps, "spring", { ada: 5, ben: 6 });
  await validate(deps, "spring", 1);
  const ref = bulkGrantRef(programId, "spring");
  const before = (await deps.reader.get(ref))?.value;
  await start(deps, "spring", 1);
  await runAll(deps, "spring", 1, 1);
  expect(await compareAll(memory, false)).toEqual([]);

  store.force(ref, before);
  store.force(blockOutcomeRef(before?.revision.uploadId ?? "", 0), undefined);
  expect(await compareAll(memory, true)).toEqual([
    {
      ...{ kind: "BULK_GRANT_BEHIND", name: "p/spring", outcome: "FOUND" },
      detail: "AWAITING_APPROVAL, and 2 more rows of its sheet are granted",
    },
  ]);
  store.force(ref, undefined);
  expect(linesOf(await compareAll(memory, true))).toEqual(["BULK_GRANT_LOST p/spring FOUND"]);
});

test("a granted row that is in no sheet is named", async () => {
  const memory = await openStore();
  const { deps, store } = memory;
  await submit(deps, "spring", { ada: 5 });
  await validate(deps, "spring", 1);
  await start(deps, "spring", 1);
  await runAll(deps, "spring", 1, 1);
  const event = (await deps.reader.get(eventRef(programId, "ada", "b:spring_ada")))?.value;
  await grant(deps, "other", 5, { userId: "eve" });
  const key = (await deps.reader.get(eventRef(programId, "eve", "c:other")))?.value;
  if (!event || !key) throw new Error("there is no event");
  const of = { origin: "b", eventId: "spring_eve" } as const;
  store.force(eventRef(programId, "eve", "b:spring_eve"), {
    ...key,
    entry: { ...key.entry, event: of },
  });
  const lines = linesOf(await compareAll(memory, false));
  expect(lines).toContain(`BULK_ROW_LOST ${programId}/spring FOUND`);
});

test("records of a program that does not exist are named", async () => {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  await grant(deps, "g", 10);
  await createReservation(deps, {
    ...{ programId: "p", reservationId: "r", userId: "u", points: 5, reason: "" },
    ...{ executeTime: 0, allowPastExecuteTime: true, caller: asService("test") },
  });
  store.force(programRef("p"), undefined);
  expect(linesOf(await compareAll(fixture, true))).toEqual([
    "PROGRAM_LOST p/r FOUND",
    "PROGRAM_LOST p/u FOUND",
  ]);
});

test("a cancelled reservation that is granted is left to people", async () => {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  const { reservation } = await createReservation(deps, {
    ...{ programId: "p", reservationId: "r", userId: "u", points: 5, reason: "" },
    ...{ executeTime: 0, allowPastExecuteTime: true, caller: asService("test") },
  });
  await grant(deps, "g", 5);
  const key = (await deps.reader.get(eventRef("p", "u", "c:g")))?.value;
  if (!key) throw new Error("there is no event");
  const event = { origin: "r", eventId: "r" } as const;
  store.force(eventRef("p", "u", "r:r"), { ...key, entry: { ...key.entry, event } });
  const { traceparent: _, ...pending } = reservation;
  store.force(reservationRef("p", "r"), { ...pending, state: "CANCELLED" });
  const found = linesOf(await compareAll(fixture, true));
  expect(found).toContain("RESERVATION_BEHIND p/r FOUND");
});

test("the list of muted targets follows the targets", async () => {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  for (const id of ["one", "two"]) {
    const target = { type: "post", id };
    await registerTarget(deps, { target, ownerId: "o", title: "", link: "" });
    await setTargetMuted(deps, { ownerId: "o", target, muted: id === "one" });
  }
  const [one, two] = ["one", "two"].map((id) => mutedTargetRef("o", { type: "post", id }));
  if (!one || !two) throw new Error("there is no ref");
  store.force(two, (await deps.reader.get(one))?.value);
  store.force(one, undefined);
  expect(linesOf(await compareAll(fixture, true))).toEqual([
    "MUTE_DIFFERS post/one MENDED",
    "MUTE_DIFFERS post/two MENDED",
  ]);
  expect(await deps.reader.get(two)).toBeUndefined();
  expect(await compareAll(fixture, false)).toEqual([]);
});

/** An account with a granted reservation, `r`, and the account as it was before the grant. */
async function withGrantedReservation() {
  const fixture = createAccountFixture();
  const { deps, stored } = fixture;
  await grant(deps, "g", 10);
  await createReservation(deps, {
    ...{ programId: "p", reservationId: "r", userId: "u", points: 5, reason: "" },
    ...{ executeTime: 0, allowPastExecuteTime: true, caller: asService("test") },
  });
  const before = await stored();
  await executeReservation(deps, { programId: "p", reservationId: "r", userId: "u" });
  return { ...fixture, before };
}

/** The points are restored to before the grant, and the reservation to after it. */
async function withLostGrant() {
  const { before, ...fixture } = await withGrantedReservation();
  const { store, process } = fixture;
  store.force(accountRef("p", "u"), before);
  store.force(entryRef("p", "u", 2), undefined);
  store.force(eventRef("p", "u", "r:r"), undefined);
  return { ...fixture, deps: process() };
}

test("a lost grant that the account refuses is named, and its record is FAILED", async () => {
  const fixture = await withLostGrant();
  const { deps, store } = fixture;
  const input = { programId: "p", userId: "u", reason: "", caller: asService("test") };
  await freezeAccount(deps, { ...input, eventId: "f", deadline: undefined });
  // Another pass follows, which finds nothing of the reservation any more.
  store.force(eventRef("p", "u", "c:g"), undefined);
  const findings = await compareAll({ ...fixture, deps: fixture.process() }, true);
  expect(linesOf(findings)).toEqual([
    "EVENT_KEY_LOST p/u c:g MENDED",
    "RESERVATION_GRANT_LOST p/r REFUSED",
  ]);
  expect(findings.at(-1)?.detail).toContain("ACCOUNT_FROZEN: the record is FAILED now");
  expect((await deps.reader.get(reservationRef("p", "r")))?.value.state).toBe("FAILED");
});

test("a lost grant of a program that is paused is named, and its record waits", async () => {
  const fixture = await withLostGrant();
  const { deps } = fixture;
  const by = { reason: "", caller: asService("test"), deadline: undefined };
  await pauseProgramReservations(deps, { programId: "p", ...by });
  const findings = await compareAll(fixture, true);
  expect(linesOf(findings)).toEqual(["RESERVATION_GRANT_LOST p/r REFUSED"]);
  expect(findings[0]?.detail).toContain("WRONG_STATE: the record is PENDING now: PAUSED");
  expect((await deps.reader.get(reservationRef("p", "r")))?.value.state).toBe("PENDING");
});

test("a grant whose points the account has is not made again beside a gap", async () => {
  const fixture = await withGrantedReservation();
  const { deps, store, stored } = fixture;
  await grant(deps, "h", 1);
  const before = await stored();
  store.force(entryRef("p", "u", 2), undefined);
  store.force(eventRef("p", "u", "r:r"), undefined);
  const findings = await compareAll({ ...fixture, deps: fixture.process() }, true);
  expect(linesOf(findings)).toEqual([
    "ACCOUNT_DIFFERS p/u REFUSED",
    "RESERVATION_GRANT_LOST p/r REFUSED",
  ]);
  expect(await stored()).toEqual(before);
  expect((await deps.reader.get(reservationRef("p", "r")))?.value.state).toBe("DONE");
});

test("a row whose points the account has is not granted again beside a gap", async () => {
  const memory = await openStore();
  const { deps, store } = memory;
  await grant(deps, "g", 1, { userId: "ada" });
  await submit(deps, "spring", { ada: 5 });
  await validate(deps, "spring", 1);
  await start(deps, "spring", 1);
  await runAll(deps, "spring", 1, 1);
  await grant(deps, "h", 1, { userId: "ada" });
  const account = accountRef(programId, "ada");
  const before = (await deps.reader.get(account))?.value;
  store.force(entryRef(programId, "ada", 2), undefined);
  store.force(eventRef(programId, "ada", "b:spring_ada"), undefined);
  const findings = await compareAll({ ...memory, deps: memory.process() }, true);
  expect(linesOf(findings)).toEqual([
    "ACCOUNT_DIFFERS p/ada REFUSED",
    "BULK_ROW_GRANT_LOST p/spring REFUSED",
  ]);
  expect((await deps.reader.get(account))?.value).toEqual(before);
});

test("a refund that a damaged ledger has lost cannot be made once more", async () => {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  await grant(deps, "g", 10);
  await use(deps, "u", 4);
  await refund(deps, "x", "u");
  await grant(deps, "h", 1);
  store.force(entryRef("p", "u", 3), undefined);
  store.force(eventRef("p", "u", "c:x"), undefined);
  expect(linesOf(await compareAll({ ...fixture, deps: fixture.process() }, true))).toEqual([
    "ACCOUNT_DIFFERS p/u REFUSED",
    "EVENT_KEY_DIFFERS p/u c:u REFUSED",
  ]);
  const again = refund(fixture.process(), "x", "u");
  await expect(again).rejects.toMatchObject({ reason: "LIMIT_EXCEEDED" });
});

test("the entries of a busy account's transaction come back from their copies", async () => {
  const fixture = await withLostEntries(93);
  expect(linesOf(await compareAll(fixture, true))).toEqual(["ACCOUNT_DIFFERS p/u MENDED"]);
  expect(await fixture.stored()).toMatchObject({ last: 94 });
  expect(await compareAll(fixture, false)).toEqual([]);
});

test("an account with more lost entries than can be restored is left, as are keys", async () => {
  const fixture = await withLostEntries(100);
  expect(linesOf(await compareAll(fixture, true))).toEqual(["ACCOUNT_DIFFERS p/u REFUSED"]);
  expect(await fixture.stored()).toMatchObject({ last: 101 });
  expect(await fixture.deps.reader.get(eventRef("p", "u", "c:g100"))).toBeDefined();
});

/** An account whose ledger has lost so many of its last entries, and no event key. */
async function withLostEntries(count: number) {
  const fixture = createAccountFixture();
  for (let i = 0; i <= count; i++) await grant(fixture.deps, `g${i}`, 1);
  for (let i = 0; i < count; i++) fixture.store.force(entryRef("p", "u", 2 + i), undefined);
  return { ...fixture, deps: fixture.process() };
}

test("an inbox that lost more notifications than a transaction begins has them all", async () => {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  const count = 200;
  for (let i = 0; i < count; i++) {
    const target = { type: "post", id: `post-${i}` };
    await registerTarget(deps, { target, ownerId: "o", title: "", link: "" });
    await react(deps, { target, kind: "like", userId: "ann", displayName: "ann" });
    store.force(unreadGroupRef("o", target, "like"), undefined);
  }
  store.force(inboxRef("o"), undefined);
  const again = { ...fixture, deps: fixture.process() };
  expect(linesOf(await compareAll(again, true))).toEqual(["INBOX_BEHIND o MENDED"]);
  expect((await deps.reader.get(inboxRef("o")))?.value).toMatchObject({
    ...{ version: count, notificationCount: count, actorCount: count },
  });
  expect(await compareAll(again, false)).toEqual([]);
});

/** An owner with one unread notification and an inbox that counts none, which `spoil` writes. */
async function withWrongInbox() {
  const fixture = createAccountFixture();
  const { deps, store } = fixture;
  const target = { type: "post", id: "one" };
  await registerTarget(deps, { target, ownerId: "o", title: "", link: "" });
  await react(deps, { target, kind: "like", userId: "ann", displayName: "ann" });
  const inbox = (await deps.reader.get(inboxRef("o")))?.value;
  if (!inbox) throw new Error("there is no inbox");
  const spoil = () => store.force(inboxRef("o"), { ...inbox, notificationCount: 0 });
  spoil();
  return { ...fixture, deps: fixture.process(), spoil };
}

/** Repairs, and calls `onMended` whenever something was mended. Returns what was reported. */
async function repair({ deps, store }: MemoryDeps, onMended: () => void) {
  const lines: string[] = [];
  const report = (finding: Finding) => {
    lines.push(...linesOf([finding]));
    if (finding.outcome === "MENDED") onMended();
  };
  const compare = () => compareTables({ ...deps, scan: store.scan, repair: true, report });
  const ended = await runAs("restore", "", compare).then(
    () => "agreed",
    ({ reason }) => reason,
  );
  return { lines, ended };
}

test("what is not found again is not reported as left", async () => {
  const fixture = await withWrongInbox();
  const { deps, store } = fixture;
  await grant(deps, "g", 10);
  const program = (await deps.reader.get(programRef("p")))?.value;
  store.force(programRef("p"), undefined);
  const onMended = () => store.force(programRef("p"), program);
  const lines = ["INBOX_DIFFERS o MENDED"];
  expect(await repair(fixture, onMended)).toEqual({ lines, ended: "agreed" });
});

test("what is mended again and again is no agreement", async () => {
  const fixture = await withWrongInbox();
  const lines = Array(5).fill("INBOX_DIFFERS o MENDED");
  expect(await repair(fixture, fixture.spoil)).toEqual({ lines, ended: "CONTENDED" });
});
