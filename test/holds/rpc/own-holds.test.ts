/** Tests that a token with the limit on holds ends, and refunds, only holds of its own service. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HoldService } from "../../../src/gen/meguri/holds/v1/hold_service_pb.ts";
import {
  ExpiredPointsPolicy,
  PointsService,
} from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { allScopes } from "../../support/fixtures/descriptors.ts";
import {
  claimsOf,
  createSigningKey,
  type Issuer,
  jwtVariables,
  type SigningKey,
  signToken,
  startIssuer,
} from "../../support/servers/issuer.ts";
import { refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

let key: SigningKey;
let issuer: Issuer;
let server: MemoryServer;

beforeAll(async () => {
  key = await createSigningKey("right");
  issuer = await startIssuer([key]);
  server = await startMemoryServer(jwtVariables(issuer));
});

afterAll(async () => {
  await server.stop();
  await issuer.stop();
});

const userId = "u";
const expiredPointsPolicy = ExpiredPointsPolicy.ORIGINAL_EXPIRY;

/** The calls of a service, which has every scope. */
async function callsOf(service: string, limit: object = {}) {
  const claims = claimsOf({ scope: allScopes.join(" "), client_id: service, ...limit });
  const headers = { authorization: `Bearer ${await signToken(key, claims)}` };
  const points = createClient(PointsService, server.handlers);
  const holds = createClient(HoldService, server.handlers);
  const until = timestampFromMs(Date.now() + 3_600_000);
  return {
    grant: () => points.grantPoints({ userId, eventId: service, points: 100n }, { headers }),
    hold: (holdId: string) => holds.holdPoints({ userId, holdId, points: 10n, until }, { headers }),
    capture: (holdId: string) => {
      const request = { userId, holdId, eventId: "c", points: 4n, moreCapturesFollow: true };
      return holds.capturePoints(request, { headers });
    },
    release: (holdId: string) => holds.releaseHold({ userId, holdId }, { headers }),
    refund: (holdId: string) => {
      const event = { eventId: `${holdId}-back`, useEventId: "c" };
      return points.refundPoints({ userId, holdId, ...event, expiredPointsPolicy }, { headers });
    },
  };
}

test("own holds only with the limit, those of every service without it", async () => {
  const shop = await callsOf("shop");
  const limited = await callsOf("cafe", { meguri_holds: "own" });
  const payments = await callsOf("payments");
  await shop.grant();
  await shop.hold("of-shop");
  await shop.capture("of-shop");

  const before = await dump(server);
  for (const change of [limited.capture, limited.release, limited.refund]) {
    expect(await refusalOf(change("of-shop"))).toMatchObject({
      code: "PermissionDenied",
      reason: "PERMISSION_DENIED",
      metadata: { field: "hold_id" },
    });
  }
  expect(await dump(server)).toEqual(before);

  await limited.hold("of-cafe");
  await limited.capture("of-cafe");
  for (const [caller, holdId] of [
    [limited, "of-cafe"],
    [payments, "of-shop"],
  ] as const) {
    await caller.refund(holdId);
    expect((await caller.release(holdId)).hold?.releasedPoints).toBe(6n);
  }
});
