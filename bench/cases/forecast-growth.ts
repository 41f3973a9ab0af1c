/** Measures whether the cost of a forecast grows with the reservations that have ended. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { reservationRef } from "../../src/reservations/ports/records.ts";
import type { Reservation } from "../../src/reservations/rules/reservation.ts";
import type { Benchmark } from "../benchmark.ts";
import { compare, compareUnits, growthResults } from "../support/compare.ts";
import { withMeteredStack } from "../support/metered.ts";
import { seed } from "../support/seed.ts";

const few = 10;
const hourMs = 3_600_000;

/** The cost of a forecast of a user with many granted reservations, over one with few. */
export const forecastGrowth: Benchmark = {
  names: ["forecast.growth", "forecast.growth.units"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const now = Date.now();
      const sides = [few, scale.pick(5_000, 500)] as const;
      for (const granted of sides) await seed(stack, reservationsOf(userOf(granted), granted, now));
      // Timed calls do not pass the proxy of this process.
      const direct = await stack.startServer({ dynamoEndpoint: stack.dynamo.endpoint });
      const metered = await stack.startServer();
      const forecast = ({ channel }: typeof metered, granted: number) =>
        channel.send(PointsService.method.getForecast, {
          userId: userOf(granted),
          time: timestampFromMs(now + 24 * hourMs),
        });
      const rounds = { all: scale.pick(1_000, 50), first: scale.pick(300, 10) };
      const latency = await compare(scale, "forecast", rounds, sides, async (granted) => {
        const sent = performance.now();
        await forecast(direct, granted);
        return performance.now() - sent;
      });
      const units = await compareUnits(sides, async (granted) => {
        const { usage } = await stack.meter(() => forecast(metered, granted));
        return usage.reads;
      });
      const baseline = `the same with ${few} granted reservations`;
      return growthResults("forecast.growth", baseline, { latency, units });
    }),
};

const userOf = (granted: number) => `user-${granted}`;

/** So many reservations that were granted within the hours before `now`, and ten pending ones. */
function* reservationsOf(userId: string, granted: number, now: number) {
  for (let i = 0; i < granted + 10; i++) {
    const isGranted = i < granted;
    const executeTime = isGranted ? now - hourMs - i * 1_000 : now + hourMs + i;
    const value: Reservation = {
      programId: "default",
      reservationId: `${userId}-${i}`,
      userId,
      points: 5,
      reason: "bench",
      creator: asService("bench"),
      hash: `1:${"h".repeat(43)}`,
      executeTime,
      state: isGranted ? "DONE" : "PENDING",
      createTime: now - 48 * hourMs,
      updateTime: isGranted ? executeTime : now - 48 * hourMs,
      ...(isGranted && {
        grant: { time: executeTime, entryNumber: i + 1, dueSince: executeTime },
      }),
    };
    yield { ref: reservationRef("default", value.reservationId), value, version: 1 };
  }
}
