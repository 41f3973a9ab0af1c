/** Tests that one cause follows from an event to a grant, in entries, lists and notices. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { notifyGranted } from "../../../src/reservations/use-cases/notify-granted.ts";
import { completeCheck, grantRows } from "../../support/fixtures/bulk-grant-calls.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { execute } from "../../support/fixtures/failed-reservation.ts";
import { at, reasonOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const cause = "post-42";
const programId = "default";
const past = at("2020-01-01T00:00:00Z");

const causesOf = async (userId: string) => {
  const { entries } = await server.points.listLedgerEntries({ userId });
  return entries.map((entry) => entry.cause);
};

const latestEventsOf = async (ownerId: string) => {
  const { notifications } = await server.notifications.listNotifications({ ownerId });
  return notifications.flatMap(({ latestEvents }) => latestEvents);
};

test("is in the entry of its change only, and not in an expiry", async () => {
  const account = { userId: "plain" };
  await server.clock.setTime({ time: at("2026-01-10T00:00:00Z") });
  await server.points.grantPoints({ ...account, eventId: "g", points: 5n, cause });
  await server.points.usePoints({ ...account, eventId: "u", points: 1n, cause: "order-7" });
  await server.points.freezeAccount({ ...account, eventId: "f" });
  await server.clock.setTime({ time: at("2027-02-10T00:00:00Z") });
  await server.points.unfreezeAccount({ ...account, eventId: "t", cause: "case-1" });
  expect(await causesOf("plain")).toEqual(["case-1", "", "", "order-7", cause]);
  const { entry } = await server.points.getLedgerEntry({
    ...account,
    key: { case: "event", value: { eventId: "g" } },
  });
  expect(entry?.cause).toBe(cause);
  expect((await server.points.verifyAccount(account)).differences).toEqual([]);
});

test("of a reservation is in its lists, in the entry and in the notice of its grant", async () => {
  await enforceRules(server.deps, programId, { requiredApprovalCount: 0 });
  await server.programs.updateProgram({
    program: { programId, notices: { reservedGrants: true } },
    updateMask: { paths: ["notices"] },
  });
  const reserved = { userId: "author", points: 5n, executeTime: past, cause };
  const allowPast = { allowPastExecuteTime: true };
  await server.reservations.createReservation({ ...reserved, ...allowPast, reservationId: "one" });
  const { results } = await server.reservations.batchCreateReservations({
    ...allowPast,
    reservations: [{ ...reserved, reservationId: "two", cause: "post-43" }],
  });
  expect(results[0]?.outcome.value).toMatchObject({ reservation: { cause: "post-43" } });
  const filter = { case: "userId", value: "author" } as const;
  const { reservations } = await server.reservations.listReservations({ filter });
  expect(reservations.map((each) => each.cause)).toEqual([cause, "post-43"]);
  for (const reservationId of ["one", "two"]) {
    const name = { programId, reservationId, userId: "author" };
    const granted = await execute(server.deps, name);
    if (granted.outcome === "DONE") await notifyGranted(server.deps, granted);
  }
  await enforceRules(server.deps, programId, {});
  expect(await causesOf("author")).toEqual(["post-43", cause]);
  expect((await latestEventsOf("author")).map((event) => event.cause)).toEqual(["post-43", cause]);
});

describe("of an event", () => {
  const event = { eventId: "e", kind: "comment", ownerIds: ["owner"], displayName: "Ben" };

  test("is shown with it, and may be that of the grant which follows", async () => {
    await server.notifications.notify({ ...event, cause });
    expect(await latestEventsOf("owner")).toMatchObject([{ eventId: "e", cause }]);
    await server.points.grantPoints({ userId: "owner", eventId: "e", points: 1n, cause });
    expect(await causesOf("owner")).toEqual([cause]);
  });

  test("makes another request of it", async () => {
    expect(await server.notifications.notify({ ...event, cause })).toMatchObject({
      replayed: true,
    });
    expect(await reasonOf(server.notifications.notify({ ...event, cause: "post-43" }))).toBe(
      "ID_REUSED",
    );
    expect(await reasonOf(server.notifications.notify(event))).toBe("ID_REUSED");
  });
});

test("of a bulk grant is part of its content, and in the entry of every row", async () => {
  const rows = { rows: [{ userId: "row", points: 5n, reason: "spring" }] };
  const submitted = { bulkGrantId: "spring", content: { case: "rows", value: rows } } as const;
  const { bulkGrant } = await server.bulkGrants.submitBulkGrant({ ...submitted, cause });
  expect(bulkGrant).toMatchObject({ cause, revision: 1 });
  expect(await server.bulkGrants.submitBulkGrant({ ...submitted, cause })).toMatchObject({
    replayed: true,
  });
  expect(await reasonOf(server.bulkGrants.submitBulkGrant(submitted))).toBe("WRONG_STATE");
  const { revisions } = await server.bulkGrants.listBulkGrantRevisions({ bulkGrantId: "spring" });
  expect(revisions.map((each) => each.cause)).toEqual([cause]);
  await completeCheck(server, "spring");
  await grantRows(server, "spring");
  expect(await causesOf("row")).toEqual([cause]);
  await server.bulkGrants.reverseBulkGrant({
    bulkGrantId: "undo",
    reversedBulkGrantId: "spring",
    cause: "complaint-1",
  });
  await completeCheck(server, "undo");
  await grantRows(server, "undo");
  expect(await causesOf("row")).toEqual(["complaint-1", cause]);
});
