/** Tests that an event id counts once: the same request is replayed, another one is refused. */
import type { DescMessage } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import {
  ExpiredPointsPolicy,
  PointsService,
} from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { ReservationService } from "../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { formatMonth, monthAt } from "../../../src/platform/words/month.ts";
import { at, reasonOf } from "../../support/servers/refusal.ts";
import { type Clients, startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

let users = 0;

/** A month so many months from now. */
const monthAhead = (months: number) => formatMonth(monthAt("Asia/Tokyo", Date.now()) + months);

/** An account with a grant `g1`, a grant `g2`, and the uses `u1` and `u2`. */
async function prepare() {
  const account = { userId: `user-${++users}` };
  const { points } = server;
  for (const eventId of ["g1", "g2"]) {
    await points.grantPoints({ ...account, eventId, points: 100n, expireMonth: monthAhead(3) });
  }
  for (const eventId of ["u1", "u2"]) {
    await points.usePoints({ ...account, eventId, points: 20n });
  }
  return account;
}

type Request = Record<string, unknown>;
type Send = (clients: Clients, request: Request) => Promise<{ replayed: boolean }>;

interface Operation {
  readonly name: string;
  readonly schema: DescMessage;
  /** The parameters besides the account and the id; all of them at values of their own. */
  readonly request: Request;
  /** Another value of each. */
  readonly others: Request;
  readonly send: Send;
}

const { method } = PointsService;
const grantRef = (eventId: string) => ({ origin: EventOrigin.CALLER, eventId });

const apology = { reason: "apology", cause: "order-1" };
const other = { reason: "other", cause: "order-2" };

const operations: readonly Operation[] = [
  {
    name: "GrantPoints",
    schema: method.grantPoints.input,
    request: { points: 7n, reason: "gift", expireMonth: monthAhead(1), cause: "order-1" },
    others: { points: 8n, reason: "other", expireMonth: monthAhead(2), cause: "order-2" },
    send: ({ points }, request) => points.grantPoints(request),
  },
  {
    name: "UsePoints",
    schema: method.usePoints.input,
    request: { points: 7n, reason: "order", allowPartial: false, cause: "order-1" },
    others: { points: 8n, reason: "other", allowPartial: true, cause: "order-2" },
    send: ({ points }, request) => points.usePoints(request),
  },
  {
    name: "RefundPoints",
    schema: method.refundPoints.input,
    request: {
      useEventId: "u1",
      points: 7n,
      expiredPointsPolicy: ExpiredPointsPolicy.ORIGINAL_EXPIRY,
      reason: "returned",
      cause: "order-1",
      holdId: undefined,
    },
    others: {
      useEventId: "u2",
      points: 8n,
      expiredPointsPolicy: ExpiredPointsPolicy.CURRENT_MONTH,
      reason: "other",
      cause: "order-2",
      holdId: "h",
    },
    send: ({ points }, request) => points.refundPoints(request),
  },
  {
    name: "RevokePoints",
    schema: method.revokePoints.input,
    request: { grantEvent: grantRef("g1"), reason: "mistake", cause: "order-1" },
    others: { grantEvent: grantRef("g2"), reason: "other", cause: "order-2" },
    send: ({ points }, request) => points.revokePoints(request),
  },
  {
    name: "ExtendExpiry",
    schema: method.extendExpiry.input,
    request: { grantEvent: grantRef("g1"), expireMonth: monthAhead(5), ...apology },
    others: { grantEvent: grantRef("g2"), expireMonth: monthAhead(6), ...other },
    send: ({ points }, request) => points.extendExpiry(request),
  },
  {
    name: "FreezeAccount",
    schema: method.freezeAccount.input,
    request: { reason: "suspicious", cause: "case-1" },
    others: { reason: "other", cause: "case-2" },
    send: ({ points }, request) => points.freezeAccount(request),
  },
  {
    name: "UnfreezeAccount",
    schema: method.unfreezeAccount.input,
    request: { reason: "cleared", cause: "case-1" },
    others: { reason: "other", cause: "case-2" },
    send: ({ points }, request) => points.unfreezeAccount(request),
  },
];

/** The fields that name the event, of which another value is another one, and `validate_only`. */
const notCompared = new Set(["programId", "userId", "eventId", "validateOnly"]);

const parameters = (schema: DescMessage) =>
  schema.fields.map(({ localName }) => localName).filter((name) => !notCompared.has(name));

describe.each(operations)("$name", ({ name, schema, request, others, send }) => {
  test("no parameter is left out of this test", () => {
    expect(Object.keys(request)).toEqual(parameters(schema));
    expect(Object.keys(others)).toEqual(parameters(schema));
  });

  test("the same again changes nothing and answers the same", async () => {
    const sent = { ...(await prepare()), eventId: "e", ...request };
    const first = await send(server, sent);
    const before = await server.points.getBalance(sent);
    const again = await send(server, sent);
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect({ ...again, replayed: false }).toEqual(first);
    expect(await server.points.getBalance(sent)).toEqual(before);
  });

  test.each(Object.keys(others))("another %s is another request", async (parameter) => {
    const sent = { ...(await prepare()), eventId: "e", ...request };
    await send(server, sent);
    const other = { ...sent, [parameter]: others[parameter] };
    expect(await reasonOf(send(server, other))).toBe("ID_REUSED");
  });

  test("another calling service is another request", async () => {
    const sent = { ...(await prepare()), eventId: "e", ...request };
    await send(server, sent);
    expect(await reasonOf(send(server.clientsOf("shop"), sent))).toBe("ID_REUSED");
  });

  test("another operation with its id is another request", async () => {
    const sent = { ...(await prepare()), eventId: "e" };
    await send(server, { ...sent, ...request });
    const others = operations.filter((each) => each.name !== name);
    for (const other of others) {
      expect(await reasonOf(other.send(server, { ...sent, ...other.request }))).toBe("ID_REUSED");
    }
  });
});

describe("UsePoints", () => {
  test("is replayed after the points are spent, not refused", async () => {
    const account = await prepare();
    const sent = { ...account, eventId: "all", points: 160n };
    const first = await server.points.usePoints(sent);
    expect(first.availablePoints).toBe(0n);
    const again = await server.points.usePoints(sent);
    expect(again).toEqual({ ...first, replayed: true });
    // The same from another server, whose cache is empty.
    const { tablePrefix } = server.config;
    const other = await startServer({ testClock: false, tablePrefix });
    try {
      expect(await other.points.usePoints(sent)).toEqual({ ...first, replayed: true });
    } finally {
      await other.stop();
    }
  });

  test("a refusal is not remembered", async () => {
    const sent = { userId: `user-${++users}`, eventId: "late", points: 5n };
    expect(await reasonOf(server.points.usePoints(sent))).toBe("INSUFFICIENT_POINTS");
    await server.points.grantPoints({ userId: sent.userId, eventId: "g", points: 5n });
    expect((await server.points.usePoints(sent)).availablePoints).toBe(0n);
  });

  test("sent three times at once is one use", async () => {
    const sent = { ...(await prepare()), eventId: "twin", points: 10n };
    const answers = await Promise.all([1, 2, 3].map(() => server.points.usePoints(sent)));
    expect(answers.map(({ availablePoints: balance }) => balance)).toEqual([150n, 150n, 150n]);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
  });
});

describe("CreateReservation", () => {
  const request = {
    userId: "u1",
    points: 7n,
    reason: "later",
    cause: "campaign-1",
    executeTime: at("2030-01-01T00:00:00Z"),
    expiry: { case: "expireMonth", value: "2030-03" } as const,
  };
  const others: Request = {
    userId: "u2",
    points: 8n,
    reason: "other",
    cause: "campaign-2",
    executeTime: at("2030-01-02T00:00:00Z"),
    expiry: { case: "expireAfterMonths", value: 3 },
  };

  test("no parameter is left out of this test", () => {
    const { fields } = ReservationService.method.createReservation.input;
    const names = new Set(fields.map(({ localName, oneof }) => (oneof ?? { localName }).localName));
    const notCompared = [...["programId", "reservationId", "validateOnly", "allowPastExecuteTime"]];
    expect([...notCompared, ...Object.keys(request)].sort()).toEqual([...names].sort());
    expect(Object.keys(others)).toEqual(Object.keys(request));
  });

  test("the same again answers the reservation as it is now", async () => {
    const sent = { reservationId: "r-1", ...request };
    const first = await server.reservations.createReservation(sent);
    expect(first.replayed).toBe(false);
    const { reservation } = await server.reservations.cancelReservation(sent);
    const again = await server.reservations.createReservation(sent);
    expect(again).toMatchObject({ reservation, replayed: true });
  });

  test.each(Object.keys(others))("another %s is another request", async (parameter) => {
    const sent = { reservationId: `r-${parameter}`, ...request };
    await server.reservations.createReservation(sent);
    const other = { ...sent, [parameter]: others[parameter] };
    expect(await reasonOf(server.reservations.createReservation(other))).toBe("ID_REUSED");
  });

  test("another calling service is another request", async () => {
    const sent = { reservationId: "r-caller", ...request };
    await server.reservations.createReservation(sent);
    const shop = server.clientsOf("shop");
    expect(await reasonOf(shop.reservations.createReservation(sent))).toBe("ID_REUSED");
  });
});

describe("CreateProgram", () => {
  const bulkRules = { requiredApprovalCount: 2 };
  const sent = { programId: "p", timeZone: "UTC", lifetimeMonths: 6, bulkRules };

  test("no parameter is left out of this test", () => {
    const names = ProgramService.method.createProgram.input.fields.map((field) => field.localName);
    expect(Object.keys(sent)).toEqual(names);
  });

  test("the same again answers it, another zone, lifetime or rules are refused", async () => {
    const first = await server.programs.createProgram(sent);
    const again = await server.programs.createProgram(sent);
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect(again.program).toEqual(first.program);
    for (const other of [{ timeZone: "Asia/Tokyo" }, { lifetimeMonths: 7 }, { bulkRules: {} }]) {
      const call = server.programs.createProgram({ ...sent, ...other });
      expect(await reasonOf(call)).toBe("ID_REUSED");
    }
  });

  test("another spelling of the same zone is the same request", async () => {
    const one = { programId: "spelt", timeZone: "asia/KOLKATA", lifetimeMonths: 6 };
    const first = await server.programs.createProgram(one);
    expect(first.program?.timeZone).toBe("Asia/Kolkata");
    for (const timeZone of ["Asia/Kolkata", "asia/kolkata", one.timeZone]) {
      const again = await server.programs.createProgram({ ...one, timeZone });
      expect(again).toMatchObject({ replayed: true, program: { timeZone: "Asia/Kolkata" } });
    }
    // A link to the same zone is another zone, because links change with the tz database.
    const link = server.programs.createProgram({ ...one, timeZone: "Asia/Calcutta" });
    expect(await reasonOf(link)).toBe("ID_REUSED");
  });

  test("the same again works after a lengthening", async () => {
    const one = { ...sent, programId: "lengthened", bulkRules: { requiredApprovalCount: 0 } };
    await server.programs.createProgram(one);
    await server.programs.updateProgram({
      program: { programId: one.programId, lifetimeMonths: 12 },
    });
    const again = await server.programs.createProgram(one);
    expect(again.replayed).toBe(true);
    expect(again.program?.lifetimeMonths).toBe(12);
    expect(again.program?.lifetimeChanges.map((change) => change.lifetimeMonths)).toEqual([6, 12]);
  });
});
