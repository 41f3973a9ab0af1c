/** Tests that the points of a reservation change until they are granted, and count as pending. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Reservation_State as State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { execute, failReservation } from "../../support/fixtures/failed-reservation.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { at, reasonOf, toRefusal } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const programId = "default";
const past = at("2020-01-01T00:00:00Z");
const future = at("2029-01-01T00:00:00Z");

const create = (reservationId: string, executeTime = future, points = 10n) =>
  server.reservations.createReservation({
    reservationId,
    userId: reservationId,
    points,
    executeTime,
    allowPastExecuteTime: true,
  });

const setPoints = (reservationId: string, points: bigint) =>
  server.reservations.changeReservationPoints({ reservationId, points, reason: "asked" });

const run = (reservationId: string) =>
  execute(server.deps, { programId, reservationId, userId: reservationId });

const balanceOf = async (userId: string, includePending = true) => {
  const { balance } = await server.points.getBalance({ userId, includePending });
  return [balance?.availablePoints, balance?.pendingPoints];
};

describe("ChangeReservationPoints", () => {
  test("lowers and raises, keeps who and why, and brings the run in line", async () => {
    await create("r-1");
    for (const points of [4n, 25n]) {
      const { reservation } = await setPoints("r-1", points);
      expect(reservation).toMatchObject({
        points,
        state: State.PENDING,
        lastChange: { caller: asService("tests"), reason: "asked" },
      });
      expect(await balanceOf("r-1")).toEqual([0n, points]);
    }
    await eventually(async () => {
      expect(server.workflows.calls).toContain(`refreshReservation ${programId} r-1`);
    });
  });

  test("at the moment of the grant is either granted or refused", async () => {
    for (const grantFirst of [true, false]) {
      const id = `race-${grantFirst}`;
      await create(id, past);
      const change = async () => {
        const answer = await setPoints(id, 3n).catch((error) => toRefusal(error).reason);
        return typeof answer === "string" ? answer : "changed";
      };
      const calls = grantFirst ? [run(id), change()] : [change(), run(id)];
      const answers = await Promise.all(calls);
      const [available, pending] = await balanceOf(id);
      expect(pending).toBe(0n);
      expect(answers).toContain(available === 3n ? "changed" : "WRONG_STATE");
      const { reservation } = await server.reservations.getReservation({ reservationId: id });
      expect(reservation?.points).toBe(available);
    }
  });
});

describe("pending points", () => {
  const userId = "p";
  const reserve = (reservationId: string, points: bigint, executeTime = future) =>
    server.reservations.createReservation({
      userId,
      reservationId,
      points,
      executeTime,
      allowPastExecuteTime: true,
    });

  test("sum up what is pending or due, and neither ended nor failed", async () => {
    await server.points.grantPoints({ userId, eventId: "g", points: 1n });
    await reserve("p-1", 10n);
    await reserve("p-2", 20n, past);
    await reserve("p-3", 40n);
    await server.reservations.cancelReservation({ reservationId: "p-3" });
    expect(await balanceOf(userId)).toEqual([1n, 30n]);
    await execute(server.deps, { programId, reservationId: "p-2", userId });
    expect(await balanceOf(userId)).toEqual([21n, 10n]);
    await failReservation(server, { programId, reservationId: "p-4", userId });
    expect(await balanceOf(userId)).toEqual([21n, 10n]);
  });

  test("of an unknown account are those of its reservations", async () => {
    await server.reservations.createReservation({
      userId: "new",
      reservationId: "n-1",
      points: 5n,
      executeTime: future,
    });
    expect(await balanceOf("new")).toEqual([0n, 5n]);
    expect(await balanceOf("nobody")).toEqual([0n, 0n]);
  });

  test("are left out, and not read, unless they are requested", async () => {
    expect(await balanceOf(userId, false)).toEqual([21n, 0n]);
    const none = { userId: "u", programId: "none", includePending: true };
    expect(await reasonOf(server.points.getBalance(none))).toBe("PROGRAM_NOT_FOUND");
  });
});
