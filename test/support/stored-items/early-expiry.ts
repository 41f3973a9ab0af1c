/** Calls that store points that end early, and such reservations and bulk grants. */
import { submitBulkGrant } from "../../../src/bulk-grants/use-cases/submit.ts";
import { monthAt } from "../../../src/platform/words/month.ts";
import type { EarlyExpiry } from "../../../src/points/rules/early-expiry.ts";
import { extendPoints, grantPoints } from "../../../src/points/use-cases/commands.ts";
import { createReservation } from "../../../src/reservations/use-cases/commands.ts";
import { programId, shop } from "./points.ts";
import type { Recorder } from "./recorder.ts";

export async function storeEarlyExpiry({ deps, clock, step }: Recorder): Promise<void> {
  const expireMonth = monthAt("Asia/Tokyo", clock.time);
  const call = (eventId: string) => {
    const change = { programId, userId: "eve", eventId, reason: "" };
    return { ...change, caller: shop, deadline: undefined };
  };
  await step("grant points that end early", () =>
    grantPoints(deps, { ...call("gift"), points: 9, expireMonth }),
  );
  await step("extend them", () => {
    const grant = { origin: "c", eventId: "gift" } as const;
    return extendPoints(deps, { ...call("late"), grant, expireMonth: expireMonth + 1 });
  });
  const reserve = (userId: string, expiry: EarlyExpiry) =>
    createReservation(deps, {
      ...{ programId, reservationId: `early-${userId}`, userId, points: 10, reason: "", expiry },
      ...{ executeTime: clock.time + 60_000, caller: shop },
    });
  await step("reserve points that end early", async () => {
    await reserve("eve", { expireMonth: expireMonth + 1 });
    await reserve("fay", { expireAfterMonths: 2 });
  });
  await step("submit rows that end early", () => {
    async function* rows() {
      yield { userId: "eve", points: 5, reason: "", expireMonth: "2099-01" };
      yield { userId: "fay", points: 6, reason: "" };
    }
    const name = { programId, bulkGrantId: "early", submitter: shop, expireMonth };
    return submitBulkGrant(deps, name, { rows: rows() });
  });
}
