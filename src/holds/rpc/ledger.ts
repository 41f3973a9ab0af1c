/**
 * The handlers of the PointsService for what may be an event of a hold: an entry by its event, and
 * a refund.
 */
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type GetLedgerEntryRequest,
  type PointsService,
  ExpiredPointsPolicySchema as PolicySchema,
} from "../../gen/meguri/points/v1/points_service_pb.ts";
import { identityOf } from "../../platform/edge/context.ts";
import { invalid } from "../../platform/messages/invalid-request.ts";
import { toEnumName } from "../../platform/messages/records.ts";
import { toSafeInteger } from "../../platform/messages/scalars.ts";
import { toAccount } from "../../points/rpc/accounts.ts";
import { fromChange, toChange } from "../../points/rpc/commands.ts";
import { fromEntry, toEventName } from "../../points/rpc/ledger-entries.ts";
import type { ExpiredPointsPolicy } from "../../points/rules/points.ts";
import type { Deps } from "../ports/deps.ts";
import { getLedgerEntry } from "../use-cases/ledger.ts";
import { refundPoints } from "../use-cases/refund.ts";

type Handlers = "getLedgerEntry" | "refundPoints";

export function holdLedger(deps: Deps): Pick<ServiceImpl<typeof PointsService>, Handlers> {
  return {
    getLedgerEntry: async (request) => ({
      entry: fromEntry(await getLedgerEntry(deps, toAccount(request), toKey(request.key))),
    }),

    async refundPoints(request, context) {
      const { useEventId, holdId, points, expiredPointsPolicy } = request;
      const input = {
        ...toChange(request, context),
        ownHoldsOnly: identityOf(context.values).holds === "own",
        useEventId,
        holdId,
        points: points === undefined ? undefined : toSafeInteger(points, "points"),
        // The schema requires the field, so it is set.
        expiredPointsPolicy: toEnumName(PolicySchema, expiredPointsPolicy) as ExpiredPointsPolicy,
      };
      return fromChange(await refundPoints(deps, input));
    },
  };
}

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER);

function toKey(key: GetLedgerEntryRequest["key"]) {
  switch (key.case) {
    case "number":
      // No ledger is that long, so a number above the limit names no entry either.
      return toSafeInteger(key.value > maxSafe ? maxSafe : key.value, "number");
    case "event":
      return toEventName(key.value);
    case undefined:
      throw invalid("key", "one of number, event is required");
  }
}
