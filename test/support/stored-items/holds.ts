/** Calls that store holds in each state. */

import { markStart } from "../../../src/due/use-cases/marks.ts";
import { capturePoints, holdPoints, releaseHold } from "../../../src/holds/use-cases/commands.ts";
import { refundPoints } from "../../../src/holds/use-cases/refund.ts";
import { timeOutHold } from "../../../src/holds/use-cases/time-out.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import { alice, programId, shop } from "./points.ts";
import type { Recorder } from "./recorder.ts";

export async function storeHolds({ deps, clock, step }: Recorder): Promise<void> {
  const call = { programId, userId: "flo", reason: "", caller: shop, deadline: undefined };
  const until = clock.time + 3_600_000;
  const hold = (holdId: string, more: Partial<Parameters<typeof holdPoints>[1]> = {}) =>
    holdPoints(deps, {
      ...{ ...call, holdId, points: 10, allowPartial: false, until },
      expiredPointsPolicy: "ORIGINAL_EXPIRY",
      ...more,
    });
  await step("grant points to be held", () =>
    grantPoints(deps, { ...call, eventId: "order-7", points: 100 }),
  );
  await step("hold points", async () => {
    const why = { caller: alice, reason: "order", cause: "order-7" };
    await hold("h-1", { ...why, expiredPointsPolicy: "CURRENT_MONTH" });
    await hold("h-2");
    await hold("h-3");
  });
  await step("mark a hold whose run may not have been started", async () => {
    await markStart(deps, { programId, holdId: "h-1" });
  });
  const capture = { ...call, holdId: "h-1", reason: "a parcel", moreFollow: true };
  await step("capture a part of them", () =>
    capturePoints(deps, { ...capture, eventId: "parcel-1", points: 4 }),
  );
  await step("capture another part, and release the rest", () =>
    capturePoints(deps, { ...capture, eventId: "parcel-2", points: 5, moreFollow: false }),
  );
  await step("refund a part of a capture", () =>
    refundPoints(deps, {
      ...{ ...call, eventId: "return-7", holdId: "h-1", useEventId: "parcel-1", points: 3 },
      expiredPointsPolicy: "ORIGINAL_EXPIRY",
    }),
  );
  await step("release a hold", () => releaseHold(deps, { ...call, holdId: "h-2" }));
  clock.time = until;
  await step("let a hold time out", async () => {
    await timeOutHold(deps, { ...call, holdId: "h-3" });
  });
}
