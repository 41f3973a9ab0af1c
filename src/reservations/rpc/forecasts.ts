/** The handler of the PointsService that forecasts a balance. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { Forecast_Change_Cause as Cause } from "../../gen/meguri/points/v1/forecast_pb.ts";
import type { PointsService } from "../../gen/meguri/points/v1/points_service_pb.ts";
import { deadlineOf } from "../../platform/edge/context.ts";
import { fromInstant, toInstant } from "../../platform/messages/scalars.ts";
import { toAccount } from "../../points/rpc/accounts.ts";
import type { Deps } from "../ports/deps.ts";
import type { ForecastChange } from "../rules/forecast.ts";
import { getForecast } from "../use-cases/forecast.ts";

export function forecasts(deps: Deps): Pick<ServiceImpl<typeof PointsService>, "getForecast"> {
  return {
    async getForecast(request, context) {
      // The schema requires the field, so it is set.
      const time = toInstant(request.time as Timestamp, "time");
      const found = await getForecast(deps, toAccount(request), time, deadlineOf(context));
      return {
        forecast: {
          time: fromInstant(found.time),
          availablePoints: BigInt(found.availablePoints),
          currentAvailablePoints: BigInt(found.currentAvailablePoints),
          changes: found.changes.map((change) => ({
            ...change,
            time: fromInstant(change.time),
            cause: causes[change.cause],
            points: BigInt(change.points),
            availablePoints: BigInt(change.availablePoints),
          })),
          frozen: found.frozen,
          heldPoints: BigInt(found.heldPoints),
        },
      };
    },
  };
}

const causes: Readonly<Record<ForecastChange["cause"], Cause>> = {
  EXPIRY: Cause.EXPIRY,
  RESERVATION: Cause.RESERVATION,
};
