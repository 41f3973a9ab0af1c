/** Tests batches of new reservations: each is created or refused on its own, at most once. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BatchCreateReservationsResponse } from "../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

const executeTime = at("2029-01-01T00:00:00Z");

const item = (reservationId: string) => ({ reservationId, userId: "u", points: 10n, executeTime });

/** A line for each result: `r-1`, `r-1 replayed`, or the reason of a refusal. */
const linesOf = ({ results }: BatchCreateReservationsResponse) =>
  results.map(({ outcome: { case: name, value } }) => {
    if (name === "error") return `${value.reason}${value.retryable ? ", retryable" : ""}`;
    return `${value?.reservation?.reservationId}${value?.replayed ? " replayed" : ""}`;
  });

const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

describe("a batch", () => {
  test("of 100 is created in its order, and replayed when it is sent again", async () => {
    const wanted = ids("many", 100);
    const reservations = wanted.map(item);
    const create = () =>
      server.reservations.batchCreateReservations({ reservations }, { timeoutMs: 60_000 });
    expect(linesOf(await create())).toEqual(wanted);
    const again = await create();
    expect(linesOf(again)).toEqual(wanted.map((id) => `${id} replayed`));
    const { reservation } = await server.reservations.getReservation({ reservationId: "many-99" });
    expect(reservation).toMatchObject({ points: 10n, creator: asService("tests") });
    const started = () => server.workflows.calls.filter((call) => call.includes(" many-"));
    await eventually(async () => expect(started()).toHaveLength(100));
  });

  test("that was created in part is completed, and the rest is refused one by one", async () => {
    await server.reservations.createReservation(item("part-0"));
    await server.reservations.createReservation({ ...item("part-1"), points: 99n });
    const reservations = [
      item("part-0"),
      item("part-1"),
      { ...item("part-2"), executeTime: at("2099-01-01T00:00:00Z") },
      item("part-3"),
    ];
    const answer = await server.reservations.batchCreateReservations({ reservations });
    expect(linesOf(answer)).toEqual(["part-0 replayed", "ID_REUSED", "INVALID_REQUEST", "part-3"]);
    const { value } = answer.results[2]?.outcome ?? {};
    expect(value).toMatchObject({ message: expect.stringContaining("five years") });
    const missing = server.reservations.getReservation({ reservationId: "part-2" });
    expect(await reasonOf(missing)).toBe("RESERVATION_NOT_FOUND");
  });

  test("may name one id twice: one of them creates it, and each has its answer", async () => {
    const same = await server.reservations.batchCreateReservations({
      reservations: [item("twice"), item("twice")],
    });
    expect(linesOf(same).sort()).toEqual(["twice", "twice replayed"]);
    const other = await server.reservations.batchCreateReservations({
      reservations: [item("clash"), { ...item("clash"), points: 11n }],
    });
    expect(linesOf(other).sort()).toEqual(["ID_REUSED", "clash"]);
  });
});

describe("a whole batch is refused", () => {
  const nothingOf = async (reservationId: string) =>
    expect(await reasonOf(server.reservations.getReservation({ reservationId }))).toBe(
      "RESERVATION_NOT_FOUND",
    );

  test("when it is empty, too long, or of an unknown program", async () => {
    const { reservations: service } = server;
    for (const count of [0, 101]) {
      const reservations = ids("whole", count).map(item);
      const { fields } = await refusalOf(service.batchCreateReservations({ reservations }));
      expect(fields).toEqual(["reservations"]);
    }
    const reservations = [item("whole-0")];
    const unknown = service.batchCreateReservations({ programId: "none", reservations });
    expect(await reasonOf(unknown)).toBe("PROGRAM_NOT_FOUND");
    await nothingOf("whole-0");
  });
});
