/** Calls each RPC of the HoldService, and refunds a capture. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ExpiredPointsPolicy as Policy } from "../../../../src/gen/meguri/points/v1/points_service_pb.ts";
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
  await holds.listHolds(account);
}
