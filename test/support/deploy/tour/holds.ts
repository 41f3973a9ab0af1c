/** Calls each RPC of the HoldService, and refunds a capture. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect } from "vitest";
import { ExpiredPointsPolicy as Policy } from "../../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { reasonOf } from "../../servers/refusal.ts";
import type { TourClients } from "./called.ts";

export async function tourHolds({ points, holds }: TourClients): Promise<void> {
  const account = { programId: "default", userId: "hal" };
  await points.grantPoints({ ...account, eventId: "g", points: 9n });
  const until = timestampFromMs(Date.now() + 3_600_000);
  for (const holdId of ["h1", "h2"]) {
    await holds.holdPoints({ ...account, holdId, points: 3n, until });
  }
  await holds.capturePoints({ ...account, holdId: "h1", eventId: "c", points: 2n });
  const refund = { useEventId: "c", holdId: "h1", expiredPointsPolicy: Policy.CURRENT_MONTH };
  await points.refundPoints({ ...account, eventId: "f", ...refund });
  await holds.releaseHold({ ...account, holdId: "h2" });
  await holds.getHold({ holdId: "h1" });
  // The account and the hold are read in one request, because the server has neither in memory.
  const absent = { programId: "default", userId: "nobody", holdId: "absent" };
  expect(await reasonOf(holds.releaseHold(absent))).toBe("HOLD_NOT_FOUND");
  await holds.listHolds(account);
}
