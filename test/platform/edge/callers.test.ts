/** Tests that all that names a caller names service and subject, and what each of them decides. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { advanceBulkGrant } from "../../../src/bulk-grants/use-cases/advance.ts";
import { runBlocks } from "../../../src/bulk-grants/use-cases/run.ts";
import { BulkGrant_Action_Type as ActionType } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { LedgerEntry_Type as Type } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { completeCheck, submitLines } from "../../support/fixtures/bulk-grant-calls.ts";
import { execute } from "../../support/fixtures/failed-reservation.ts";
import { at, reasonOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    /** The header names the service and, behind a slash, the subject. */
    authenticate({ header }) {
      const [service = "", subject = service] = (header("meguri-caller") ?? "").split("/");
      return { caller: { service, subject }, scopes: "all" };
    },
  });
  await server.clock.setTime({ time: at("2026-11-01T00:00:00Z") });
  await server.programs.createProgram({ programId: "paused" });
});
afterAll(() => server.stop());

const executeTime = at("2029-01-01T00:00:00Z");

const entriesOf = async (userId: string) => {
  const { entries } = await server.points.listLedgerEntries({ userId });
  return entries.map(({ type, caller }) => [type, caller?.service, caller?.subject]);
};

describe("the service and the subject stand in", () => {
  test("every ledger entry, also in packed ones and in that of a freeze", async () => {
    const names = ["alice", "ben", "cho", "dan"];
    const granted = await Promise.all(
      names.map((eventId) =>
        server
          .clientsOf(`shop/${eventId}`)
          .points.grantPoints({ userId: "u", eventId, points: 10n }),
      ),
    );
    for (const [i, { entry }] of granted.entries()) {
      expect(entry).toMatchObject({ caller: { service: "shop", subject: names[i] } });
    }
    await server.clientsOf("desk/eri").points.freezeAccount({ userId: "u", eventId: "f" });
    const [frozen, ...grants] = await entriesOf("u");
    expect(frozen).toEqual([Type.FROZEN, "desk", "eri"]);
    expect(grants.sort()).toEqual(names.map((name) => [Type.ISSUED, "shop", name]));
  });

  test("an entry of a service of its own, and an expiry has neither", async () => {
    await server.programs.createProgram({ programId: "short", lifetimeMonths: 1 });
    const account = { programId: "short", userId: "u" };
    await server.points.grantPoints({ ...account, eventId: "e", points: 10n });
    await server.clock.setTime({ time: at("2027-01-01T00:00:00Z") });
    await server.points.grantPoints({ ...account, eventId: "e2", points: 10n });
    const { entries } = await server.points.listLedgerEntries(account);
    const callers = entries.map(({ type, caller }) => [type, caller?.service, caller?.subject]);
    expect(callers).toEqual([
      [Type.ISSUED, "tests", "tests"],
      [Type.EXPIRED, undefined, undefined],
      [Type.ISSUED, "tests", "tests"],
    ]);
  });

  test("a reservation, its last change, and the entry of its grant", async () => {
    const alice = server.clientsOf("shop/alice").reservations;
    const desk = server.clientsOf("desk/ben").reservations;
    const request = { reservationId: "r", userId: "reserver", points: 10n, executeTime };
    const { reservation } = await alice.createReservation(request);
    const creator = { service: "shop", subject: "alice" };
    expect(reservation).toMatchObject({ creator });
    expect(reservation?.lastChange).toBeUndefined();
    await desk.rescheduleReservation({
      reservationId: "r",
      executeTime: at("2020-01-01T00:00:00Z"),
      allowPastExecuteTime: true,
    });
    const { reservation: moved } = await desk.getReservation({ reservationId: "r" });
    expect(moved).toMatchObject({
      creator,
      lastChange: { caller: { service: "desk", subject: "ben" } },
    });
    await execute(server.deps, { programId: "default", reservationId: "r", userId: "reserver" });
    expect(await entriesOf("reserver")).toEqual([[Type.ISSUED, "shop", "alice"]]);
  });

  test("a pause of reservations", async () => {
    const { reservations } = server.clientsOf("desk/ben");
    await reservations.pauseProgramReservations({ programId: "paused", reason: "an audit" });
    const { program } = await server.programs.getProgram({ programId: "paused" });
    expect(program?.reservationPause?.caller).toMatchObject({ service: "desk", subject: "ben" });
  });

  test("a bulk grant, its approvals and actions, and the entries of its rows", async () => {
    const submitter = server.clientsOf("campaigns/ann");
    await submitLines(submitter, { bulkGrantId: "named" }, "row-1,5,");
    const { digest } = await completeCheck(server, "named");
    const { bulkGrants } = server.clientsOf("desk/ben");
    await bulkGrants.approveBulkGrant({ bulkGrantId: "named", digest });
    const { bulkGrant } = await bulkGrants.pauseBulkGrant({ bulkGrantId: "named" });
    expect(bulkGrant).toMatchObject({
      submitter: { service: "campaigns", subject: "ann" },
      approvals: [{ caller: { service: "desk", subject: "ben" } }],
      pause: { caller: { service: "desk", subject: "ben" } },
      actions: [
        { type: ActionType.SUBMIT, caller: { service: "campaigns", subject: "ann" } },
        { type: ActionType.APPROVE, caller: { service: "desk", subject: "ben" } },
        { type: ActionType.PAUSE, caller: { service: "desk", subject: "ben" } },
      ],
    });
    await bulkGrants.resumeBulkGrant({ bulkGrantId: "named" });
    const name = { programId: "default", bulkGrantId: "named" };
    const advanced = await advanceBulkGrant(server.deps, name);
    const range = { ...name, revision: 1, run: advanced.bulkGrant.run, from: 0, to: 1 };
    await runBlocks(server.deps, range, () => true, expect.unreachable);
    expect(await entriesOf("row-1")).toEqual([[Type.ISSUED, "campaigns", "ann"]]);
  });
});

describe("any instance of a service may repeat a call, on whose behalf ever it works", () => {
  test("of points: the answer is that of the first call", async () => {
    const grant = { userId: "repeated", eventId: "e", points: 10n };
    const { entry } = await server.clientsOf("shop/alice").points.grantPoints(grant);
    const again = await server.clientsOf("shop/ben").points.grantPoints(grant);
    expect(again).toMatchObject({ replayed: true, entry: { caller: { subject: "alice" } } });
    expect(again.entry).toEqual(entry);
    const other = server.clientsOf("cafe/alice").points.grantPoints(grant);
    expect(await reasonOf(other)).toBe("ID_REUSED");
    expect(await entriesOf("repeated")).toEqual([[Type.ISSUED, "shop", "alice"]]);
  });

  test("of a reservation: it keeps its first subject", async () => {
    const request = { reservationId: "repeated", userId: "u", points: 10n, executeTime };
    const create = (caller: string) =>
      server.clientsOf(caller).reservations.createReservation(request);
    const { reservation } = await create("shop/alice");
    expect(await create("shop/ben")).toMatchObject({ replayed: true, reservation });
    expect(await reasonOf(create("cafe/alice"))).toBe("ID_REUSED");
  });
});
