/** Tests the pause of a program's reservations and its end. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Reservation_State as State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
const programId = "paused";
beforeAll(async () => {
  server = await startMemoryServer();
  await server.programs.createProgram({ programId });
});
afterAll(() => server.stop());

const pauseOf = async () => (await server.programs.getProgram({ programId })).program;

test("a pause has time, service and reason, and a second one changes nothing", async () => {
  // The server's clock may be a little behind, because it is never ahead of the store's.
  const before = Date.now() - 1_000;
  const reason = "points were wrong";
  const first = await server.reservations.pauseProgramReservations({ programId, reason });
  const pause = first.program?.reservationPause;
  expect(pause).toMatchObject({ caller: asService("tests"), reason });
  expect(pause?.time && timestampMs(pause.time)).toBeGreaterThanOrEqual(before);
  const { time = at("1970-01-01T00:00:00Z"), finalTime = time } = pause ?? {};
  expect(timestampMs(finalTime) - timestampMs(time)).toBe(33 * 60_000);
  const desk = server.clientsOf("desk").reservations;
  const second = await desk.pauseProgramReservations({ programId, reason: "again" });
  expect(second).toEqual(first);
  expect(await pauseOf()).toEqual(first.program);
  expect((await server.deps.programs.read(programId)).reservationPause).toMatchObject({
    caller: asService("tests"),
    reason,
  });
});

test("meanwhile reservations are created, moved and cancelled, and points granted", async () => {
  const reserved = { programId, reservationId: "r-1", userId: "u", points: 10n };
  const due = at("2020-01-01T00:00:00Z");
  const created = await server.reservations.createReservation({
    ...reserved,
    executeTime: due,
    allowPastExecuteTime: true,
  });
  expect(created.reservation?.state).toBe(State.PROCESSING);
  const later = { programId, reservationId: "r-1", executeTime: at("2029-01-01T00:00:00Z") };
  const moved = await server.reservations.rescheduleReservation(later);
  expect(moved.reservation?.state).toBe(State.PENDING);
  const name = { programId, reservationId: "r-1" };
  const cancelled = await server.reservations.cancelReservation(name);
  expect(cancelled.reservation?.state).toBe(State.CANCELLED);
  const granted = { programId, userId: "u", eventId: "g", points: 5n };
  expect((await server.points.grantPoints(granted)).availablePoints).toBe(5n);
});

test("a resume removes the pause, and signals the waiting runs each time", async () => {
  const signals = () => server.workflows.calls.filter((call) => call.startsWith("refreshPaused"));
  expect(signals()).toEqual([]);
  const expected: string[] = [];
  for (const [reason, because] of [
    ["the audit is over", " (the audit is over)"],
    ["", ""],
  ]) {
    const request = { programId, reason: reason ?? "" };
    const { program } = await server.reservations.resumeProgramReservations(request);
    expect(program?.reservationPause).toBeUndefined();
    expected.push(`refreshPaused paused: the program paused is resumed by tests${because}`);
    await eventually(async () => expect(signals()).toEqual(expected));
  }
  expect((await pauseOf())?.reservationPause).toBeUndefined();
});

test("an unknown program is refused", async () => {
  const { reservations } = server;
  const refused = [
    reservations.pauseProgramReservations({ programId: "none" }),
    reservations.resumeProgramReservations({ programId: "none" }),
  ];
  for (const refusal of await Promise.all(refused.map(refusalOf))) {
    expect(refusal).toMatchObject({ code: "NotFound", reason: "PROGRAM_NOT_FOUND" });
  }
});
