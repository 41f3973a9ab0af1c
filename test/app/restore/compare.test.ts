/** Tests what a comparison of restored tables finds that a drill meets seldom or never. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Deps } from "../../../src/app/ports/deps.ts";
import {
  accountRef,
  blockOutcomeRef,
  bulkGrantRef,
  entryRef,
  eventRef,
  inboxRef,
  mutedTargetRef,
  programRef,
  reservationRef,
  unreadGroupRef,
} from "../../../src/app/ports/records.ts";
import { react } from "../../../src/app/reactions/commands.ts";
import { registerTarget, setTargetMuted } from "../../../src/app/reactions/targets.ts";
import { createReservation } from "../../../src/app/reservations/commands.ts";
import { type Finding, findingKinds } from "../../../src/app/restore/findings.ts";
import { asService } from "../../../src/domain/caller.ts";
import {
  createAccountFixture,
  grant,
  refund,
  use,
} from "../../support/fixtures/account-fixture.ts";
import { openStore, runAll, start, submit, validate } from "../../support/fixtures/bulk-steps.ts";
import { programId } from "../../support/models/bulk-use-cases.ts";
import { compareAll } from "../../support/models/restore-drill.ts";

const linesOf = (findings: readonly Finding[]) =>
  findings.map(({ kind, name, outcome }) => `${kind} ${name} ${outcome}`).sort();

test("the docs say of each kind of finding what to do", () => {
  const docs = readFileSync("docs/restore.md", "utf8");
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
    ...{ executeTime: 0, creator: asService("test") },
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
    ...{ executeTime: 0, creator: asService("test") },
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
