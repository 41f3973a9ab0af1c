/** Tests that calls about reservations with validate_only answer as without, and write nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Reservation_State as State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import type { CancelReservationResponse } from "../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { execute, failReservation } from "../../support/fixtures/failed-reservation.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import {
  type Clients,
  type MemoryServer,
  startMemoryServer,
} from "../../support/servers/server.ts";
import { dumpAtRest } from "../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const programId = "default";
const past = at("2020-01-01T00:00:00Z");
const future = at("2029-01-01T00:00:00Z");
const validateOnly = true;

/** All that is stored, and the calls of Temporal. */
const observed = async () => ({
  stored: await dumpAtRest(server),
  calls: [...server.workflows.calls],
});

describe("CreateReservation with validate_only", () => {
  const sent = { userId: "v", points: 5n, cause: "campaign-1", executeTime: future };

  test("answers what the call then answers, and stores and starts nothing", async () => {
    const before = await observed();
    const request = { ...sent, reservationId: "v-1" };
    const validated = await server.reservations.createReservation({
      ...request,
      validateOnly,
    });
    expect(validated).toMatchObject({ replayed: false, reservation: { cause: "campaign-1" } });
    expect(await observed()).toEqual(before);
    const created = await server.reservations.createReservation(request);
    const times = { createTime: undefined, updateTime: undefined };
    expect({ ...created.reservation, ...times }).toEqual({ ...validated.reservation, ...times });
  });

  test("answers a replay and refusals, and stores nothing", async () => {
    const { reservation } = await server.reservations.createReservation({
      ...sent,
      reservationId: "v-2",
    });
    const before = await observed();
    const validate = (more: object) =>
      server.reservations.createReservation({
        ...sent,
        reservationId: "v-2",
        validateOnly,
        ...more,
      });
    expect(await validate({})).toMatchObject({ reservation, replayed: true });
    expect(await reasonOf(validate({ cause: "campaign-2" }))).toBe("ID_REUSED");
    expect(await reasonOf(validate({ programId: "none" }))).toBe("PROGRAM_NOT_FOUND");
    const far = { reservationId: "v-3", executeTime: at("2099-01-01T00:00:00Z") };
    expect(await reasonOf(validate(far))).toBe("INVALID_REQUEST");
    expect(await observed()).toEqual(before);
  });
});

describe("BatchCreateReservations with validate_only", () => {
  test("answers each as if it were alone, and stores and starts nothing", async () => {
    const item = { userId: "b", points: 5n, executeTime: future };
    await server.reservations.createReservation({ ...item, reservationId: "b-1" });
    const reservations = [
      { ...item, reservationId: "b-1" },
      { ...item, reservationId: "b-1", points: 6n },
      { ...item, reservationId: "b-2" },
      { ...item, reservationId: "b-2" },
      { ...item, reservationId: "b-3", executeTime: at("2099-01-01T00:00:00Z") },
    ];
    const before = await observed();
    const { results } = await server.reservations.batchCreateReservations({
      reservations,
      validateOnly,
    });
    expect(await observed()).toEqual(before);
    expect(results.map(({ outcome: { value } }) => value)).toMatchObject([
      { replayed: true, reservation: { state: State.PENDING } },
      { reason: "ID_REUSED" },
      { replayed: false, reservation: { state: State.PENDING, points: 5n } },
      { replayed: false },
      { reason: "INVALID_REQUEST" },
    ]);
    const sent = await server.reservations.batchCreateReservations({ reservations });
    expect(sent.results.map(({ outcome }) => outcome.case)).toEqual(
      results.map(({ outcome }) => outcome.case),
    );
  });
});

type Reservations = Clients["reservations"];
type Answer = Promise<Pick<CancelReservationResponse, "reservation">>;
interface Request {
  readonly reservationId: string;
  readonly reason: string;
  readonly validateOnly?: boolean;
}

interface Operation {
  readonly name: string;
  /** Makes a reservation that the call changes. */
  readonly prepare: (reservationId: string) => Promise<unknown>;
  readonly send: (reservations: Reservations, request: Request) => Answer;
}

const create = (reservationId: string, executeTime = future) =>
  server.reservations.createReservation({
    reservationId,
    userId: reservationId,
    points: 10n,
    executeTime,
    allowPastExecuteTime: true,
  });

const operations: readonly Operation[] = [
  {
    name: "CancelReservation",
    prepare: create,
    send: (reservations, request) => reservations.cancelReservation(request),
  },
  {
    name: "RescheduleReservation",
    prepare: create,
    send: (reservations, request) =>
      reservations.rescheduleReservation({
        ...request,
        executeTime: past,
        allowPastExecuteTime: true,
      }),
  },
  {
    name: "ChangeReservationPoints",
    prepare: create,
    send: (reservations, request) =>
      reservations.changeReservationPoints({ ...request, points: 3n }),
  },
  {
    name: "RetryReservation",
    prepare: (reservationId) =>
      failReservation(server, { programId, reservationId, userId: reservationId }),
    send: (reservations, request) => reservations.retryReservation(request),
  },
];

describe.each(operations)("$name with validate_only", ({ name, prepare, send }) => {
  const request = { reservationId: `${name}-1`, reason: "asked" };

  test("answers what the call then answers, and writes and starts nothing", async () => {
    await prepare(request.reservationId);
    const before = await observed();
    const validated = await send(server.reservations, { ...request, validateOnly });
    expect(await observed()).toEqual(before);
    expect(validated.reservation?.lastChange?.reason).toBe("asked");
    const { reservation } = await send(server.reservations, request);
    expect(reservation).toEqual({
      ...validated.reservation,
      updateTime: reservation?.updateTime,
      lastChange: { ...validated.reservation?.lastChange, time: reservation?.lastChange?.time },
    });
  });

  test("of one that is as the call would make it answers it, and starts nothing", async () => {
    const before = await observed();
    const { reservation } = await send(server.reservations, { ...request, validateOnly });
    expect(reservation?.lastChange?.reason).toBe("asked");
    expect(await observed()).toEqual(before);
  });

  test("answers refusals, and writes nothing", async () => {
    const done = { ...request, reservationId: `${name}-done` };
    await create(done.reservationId, past);
    await execute(server.deps, {
      programId,
      reservationId: done.reservationId,
      userId: done.reservationId,
    });
    const before = await observed();
    const refusal = await refusalOf(send(server.reservations, { ...done, validateOnly }));
    expect(refusal).toMatchObject({ reason: "WRONG_STATE", metadata: { state: "DONE" } });
    const unknown = { ...request, reservationId: "unknown", validateOnly };
    expect(await reasonOf(send(server.reservations, unknown))).toBe("RESERVATION_NOT_FOUND");
    expect(await observed()).toEqual(before);
  });
});
