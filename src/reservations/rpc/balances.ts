/** The handlers of the PointsService for balances with what is reserved, and for forecasts. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { BalanceSchema } from "../../gen/meguri/points/v1/balance_pb.ts";
import { Forecast_Change_Cause as Cause } from "../../gen/meguri/points/v1/forecast_pb.ts";
import type {
  GetBalanceRequest,
  PointsService,
} from "../../gen/meguri/points/v1/points_service_pb.ts";
import { callOf } from "../../platform/edge/context.ts";
import { invalid } from "../../platform/messages/invalid-request.ts";
import { fromInstant, toInstant, toOptionalInstant } from "../../platform/messages/scalars.ts";
import type { Call } from "../../platform/ports/call.ts";
import { formatMonth } from "../../platform/words/month.ts";
import { toAccount } from "../../points/rpc/accounts.ts";
import { getPastBalance } from "../../points/use-cases/past-balance.ts";
import { type Balance, getBalance } from "../../points/use-cases/queries.ts";
import type { Deps } from "../ports/deps.ts";
import type { ForecastChange } from "../rules/forecast.ts";
import { getForecast } from "../use-cases/forecast.ts";
import { getBalanceWithPending } from "../use-cases/outstanding.ts";

export function balances(deps: Deps): Pick<ServiceImpl<typeof PointsService>, "getBalance"> {
  return {
    async getBalance(request, context) {
      const balance = await balanceFor(deps, request, callOf(context));
      return { balance: fromBalance(balance), final: balance.final ?? false };
    },
  };
}

/** The balance that a request asks for: of now, with or without what is pending, or of the past. */
function balanceFor(deps: Deps, request: GetBalanceRequest, call: Call): Promise<Balance> {
  const [account, asOf] = [toAccount(request), toOptionalInstant(request.asOf, "as_of")];
  if (asOf === undefined) {
    return request.includePending
      ? getBalanceWithPending(deps, account, call)
      : getBalance(deps, account);
  }
  if (request.includePending) throw invalid("include_pending", "must not be set with as_of");
  return getPastBalance(deps, account, asOf, call);
}

function fromBalance(balance: Balance): MessageInitShape<typeof BalanceSchema> {
  const { account, availablePoints, version, pendingPoints = 0 } = balance;
  const buckets = balance.buckets.map(({ month, points, expireTime }) => ({
    month: formatMonth(month),
    points: BigInt(points),
    expireTime: fromInstant(expireTime),
  }));
  const [oldest] = buckets;
  const { totals } = account;
  return {
    availablePoints: BigInt(availablePoints),
    buckets,
    nextExpiring: oldest,
    totals: {
      issuedPoints: BigInt(totals.issuedPoints),
      usedPoints: BigInt(totals.usedPoints),
      expiredPoints: BigInt(totals.expiredPoints),
      refundedPoints: BigInt(totals.refundedPoints),
      revokedPoints: BigInt(totals.revokedPoints),
      heldPoints: BigInt(totals.heldPoints),
      capturedPoints: BigInt(totals.capturedPoints),
      releasedPoints: BigInt(totals.releasedPoints),
    },
    frozen: account.frozen,
    version: BigInt(version),
    heldPoints: BigInt(balance.heldPoints),
    pendingPoints: BigInt(pendingPoints),
  };
}

export function forecasts(deps: Deps): Pick<ServiceImpl<typeof PointsService>, "getForecast"> {
  return {
    async getForecast(request, context) {
      // The schema requires the field, so it is set.
      const time = toInstant(request.time as Timestamp, "time");
      const found = await getForecast(deps, toAccount(request), time, callOf(context));
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
