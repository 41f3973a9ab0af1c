/** Tests that a change with validate_only answers as the change would, and writes nothing. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
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
  readonly send: (points: Points, request: Request) => Promise<Answer>;
}

const policy = { expiredPointsPolicy: ExpiredPointsPolicy.CURRENT_MONTH };
const grantRef = (eventId: string) => ({ origin: EventOrigin.CALLER, eventId });

const operations: readonly Operation[] = [
  {
    name: "GrantPoints",
    request: { points: 7n, reason: "gift", cause: "order-1" },
    send: (points, request) => points.grantPoints(request),
  },
  {
    name: "UsePoints",
    request: { points: 90n, allowPartial: true },
    send: (points, request) => points.usePoints(request),
  },
  {
    name: "RefundPoints",
    request: { ...policy, useEventId: "u" },
    send: (points, request) => points.refundPoints(request),
  },
  {
    name: "RevokePoints",
    request: { grantEvent: grantRef("g") },
    send: (points, request) => points.revokePoints(request),
  },
  {
    name: "ExtendExpiry",
    request: { grantEvent: grantRef("g"), expireMonth: "2026-12" },
    send: (points, request) => points.extendExpiry(request),
  },
  {
    name: "FreezeAccount",
    request: {},
    send: (points, request) => points.freezeAccount(request),
  },
  {
    name: "UnfreezeAccount",
    request: {},
    send: (points, request) => points.unfreezeAccount(request),
  },
];

const validateOnly = true;

test.each(operations)(
  "$name answers what the change then answers, and writes nothing",
  async ({ request, send }) => {
    const sent = { ...(await prepare()), eventId: "e", ...request };
    const before = await dump(server);
    const validated = await send(server.points, { ...sent, validateOnly });
    expect(await dump(server)).toEqual(before);
    expect(validated.replayed).toBe(false);
    expect(await send(server.points, sent)).toEqual(validated);
  },
);

test("a refusal is answered, and nothing is written", async () => {
  const sent = { ...(await prepare()), eventId: "e", points: 90n };
  const before = await dump(server);
  const refusal = await refusalOf(server.points.usePoints({ ...sent, validateOnly }));
  expect(refusal.reason).toBe("INSUFFICIENT_POINTS");
  expect(await dump(server)).toEqual(before);
  const { message, metadata } = await refusalOf(server.points.usePoints(sent));
  expect(refusal).toMatchObject({ message, metadata });
});

test("an earlier change is answered, or that its id is used", async () => {
  const sent = { ...(await prepare()), eventId: "e", points: 7n };
  const first = await server.points.grantPoints(sent);
  const before = await dump(server);
  const again = await server.points.grantPoints({ ...sent, validateOnly });
  expect(again).toEqual({ ...first, replayed: true });
  const other = server.points.grantPoints({ ...sent, reason: "another", validateOnly });
  expect(await reasonOf(other)).toBe("ID_REUSED");
  expect(await dump(server)).toEqual(before);
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
