/** Tests that a change with validate_only answers as the change would, and writes nothing. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import {
  ExpiredPointsPolicy,
  type GrantPointsResponse,
} from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import {
  type Clients,
  type MemoryServer,
  startMemoryServer,
} from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await setTime("2026-01-15T00:00:00Z");
});
afterAll(() => server.stop());

const setTime = (time: string) => server.clock.setTime({ time: timestampFromDate(new Date(time)) });

let users = 0;
const early = { expireMonth: "2026-06" };

/** An account with 100 points of the grant `g`, which end early, less 20 of the use `u`. */
async function prepare() {
  const account = { userId: `user-${++users}` };
  await server.points.grantPoints({ ...account, eventId: "g", points: 100n, ...early });
  await server.points.usePoints({ ...account, eventId: "u", points: 20n });
  return account;
}

type Points = Clients["points"];
type Request = Record<string, unknown>;

type Answer = Pick<GrantPointsResponse, "entry" | "availablePoints" | "replayed">;

interface Operation {
  readonly name: string;
  readonly request: Request;
  /** What the service refuses, and why. */
  readonly refused: Request;
  readonly reason: string;
  readonly send: (points: Points, request: Request) => Promise<Answer>;
}

const policy = { expiredPointsPolicy: ExpiredPointsPolicy.CURRENT_MONTH };
const grantRef = (eventId: string) => ({ origin: EventOrigin.CALLER, eventId });
const unknown = { userId: "unknown" };

const operations: readonly Operation[] = [
  {
    name: "GrantPoints",
    request: { points: 7n, reason: "gift", cause: "order-1" },
    refused: { points: 7n, userId: "frozen" },
    reason: "ACCOUNT_FROZEN",
    send: (points, request) => points.grantPoints(request),
  },
  {
    name: "UsePoints",
    request: { points: 90n, allowPartial: true },
    refused: { points: 90n },
    reason: "INSUFFICIENT_POINTS",
    send: (points, request) => points.usePoints(request),
  },
  {
    name: "RefundPoints",
    request: { ...policy, useEventId: "u" },
    refused: { ...policy, useEventId: "u", points: 21n },
    reason: "LIMIT_EXCEEDED",
    send: (points, request) => points.refundPoints(request),
  },
  {
    name: "RevokePoints",
    request: { grantEvent: grantRef("g") },
    refused: { grantEvent: grantRef("u") },
    reason: "WRONG_STATE",
    send: (points, request) => points.revokePoints(request),
  },
  {
    name: "ExtendExpiry",
    request: { grantEvent: grantRef("g"), expireMonth: "2026-12" },
    refused: { grantEvent: grantRef("g"), expireMonth: "2027-01" },
    reason: "LIMIT_EXCEEDED",
    send: (points, request) => points.extendExpiry(request),
  },
  {
    name: "FreezeAccount",
    request: {},
    refused: { programId: "none" },
    reason: "PROGRAM_NOT_FOUND",
    send: (points, request) => points.freezeAccount(request),
  },
  {
    name: "UnfreezeAccount",
    request: {},
    refused: unknown,
    reason: "ACCOUNT_NOT_FOUND",
    send: (points, request) => points.unfreezeAccount(request),
  },
];

const validateOnly = true;

describe.each(operations)("$name", ({ request, refused, reason, send }) => {
  test("answers what the change then answers, and writes nothing", async () => {
    const sent = { ...(await prepare()), eventId: "e", ...request };
    const before = await dump(server);
    const validated = await send(server.points, { ...sent, validateOnly });
    expect(await dump(server)).toEqual(before);
    expect(validated.replayed).toBe(false);
    expect(await send(server.points, sent)).toEqual(validated);
  });

  test("answers a refusal, and writes nothing", async () => {
    const account = await prepare();
    await server.points.freezeAccount({ userId: "frozen", eventId: "f" });
    const sent = { ...account, eventId: "e", ...refused };
    const before = await dump(server);
    const refusal = await refusalOf(send(server.points, { ...sent, validateOnly }));
    expect(refusal.reason).toBe(reason);
    expect(await dump(server)).toEqual(before);
    const { message, metadata } = await refusalOf(send(server.points, sent));
    expect(refusal).toMatchObject({ message, metadata });
  });

  test("answers an earlier change, or that its id is used", async () => {
    const sent = { ...(await prepare()), eventId: "e", ...request };
    const first = await send(server.points, sent);
    const before = await dump(server);
    const again = await send(server.points, { ...sent, validateOnly });
    expect(again).toEqual({ ...first, replayed: true });
    const other = send(server.points, { ...sent, reason: "another", validateOnly });
    expect(await reasonOf(other)).toBe("ID_REUSED");
    expect(await dump(server)).toEqual(before);
  });
});

test("points that are due expire in the answer and not in the ledger", async () => {
  const account = await prepare();
  await setTime("2027-03-01T00:00:00Z");
  const before = await dump(server);
  const sent = { ...account, eventId: "e", points: 5n };
  const validated = await server.points.grantPoints({ ...sent, validateOnly });
  expect(validated).toMatchObject({ availablePoints: 5n, entry: { number: 4n } });
  expect(await dump(server)).toEqual(before);
  expect(await server.points.grantPoints(sent)).toEqual(validated);
});

test("an unknown account is not created", async () => {
  const before = await dump(server);
  const sent = { userId: "new", eventId: "e", points: 5n, validateOnly };
  expect(await server.points.grantPoints(sent)).toMatchObject({ availablePoints: 5n });
  expect(await server.points.freezeAccount({ ...sent, eventId: "f" })).toMatchObject({
    entry: { number: 1n },
  });
  expect(await dump(server)).toEqual(before);
});
