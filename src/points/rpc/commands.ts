/** The handlers of the PointsService that write an account. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { EventName } from "../../gen/meguri/points/v1/ledger_entry_pb.ts";
import {
  type PointsService,
  ExpiredPointsPolicy as Policy,
} from "../../gen/meguri/points/v1/points_service_pb.ts";
import { callerOf, deadlineOf } from "../../platform/edge/context.ts";
import { toOptionalMonth, toSafeInteger } from "../../platform/messages/scalars.ts";
import { parseMonth } from "../../platform/words/month.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../ports/deps.ts";
import type { ExpiredPointsPolicy } from "../rules/points.ts";
import type { ChangeInput, ChangeResult } from "../use-cases/change-account.ts";
import {
  extendPoints,
  freezeAccount,
  grantPoints,
  refundPoints,
  revokePoints,
  unfreezeAccount,
  usePoints,
} from "../use-cases/commands.ts";
import { fromEntry, toEventName } from "./ledger-entries.ts";

type Commands =
  | "grantPoints"
  | "usePoints"
  | "refundPoints"
  | "revokePoints"
  | "extendExpiry"
  | "freezeAccount"
  | "unfreezeAccount";

export function pointsCommands(deps: Deps): Pick<ServiceImpl<typeof PointsService>, Commands> {
  return {
    async grantPoints(request, context) {
      const points = toSafeInteger(request.points, "points");
      const expireMonth = toOptionalMonth(request.expireMonth);
      const input = { ...toChange(request, context), points, expireMonth };
      return fromChange(await grantPoints(deps, input));
    },

    async usePoints(request, context) {
      const points = toSafeInteger(request.points, "points");
      const { allowPartial } = request;
      const input = { ...toChange(request, context), points, allowPartial };
      return fromChange(await usePoints(deps, input));
    },

    async refundPoints(request, context) {
      const { useEventId, holdId, points, expiredPointsPolicy } = request;
      const input = {
        ...toChange(request, context),
        useEventId,
        holdId,
        points: points === undefined ? undefined : toSafeInteger(points, "points"),
        expiredPointsPolicy: policies[expiredPointsPolicy as keyof typeof policies],
      };
      return fromChange(await refundPoints(deps, input));
    },

    async revokePoints(request, context) {
      // The schema requires the field, so it is set.
      const grant = toEventName(request.grantEvent as EventName);
      return fromChange(await revokePoints(deps, { ...toChange(request, context), grant }));
    },

    async extendExpiry(request, context) {
      // The schema requires the field, so it is set.
      const grant = toEventName(request.grantEvent as EventName);
      const expireMonth = parseMonth(request.expireMonth);
      const input = { ...toChange(request, context), grant, expireMonth };
      return fromChange(await extendPoints(deps, input));
    },

    freezeAccount: async (request, context) =>
      fromChange(await freezeAccount(deps, toChange(request, context))),

    unfreezeAccount: async (request, context) =>
      fromChange(await unfreezeAccount(deps, toChange(request, context))),
  };
}

const policies = {
  [Policy.ORIGINAL_EXPIRY]: "ORIGINAL_EXPIRY",
  [Policy.CURRENT_MONTH]: "CURRENT_MONTH",
} as const satisfies Record<number, ExpiredPointsPolicy>;

function toChange(
  request: {
    readonly programId: string;
    readonly userId: string;
    readonly eventId: string;
    readonly reason: string;
    readonly cause: string;
    readonly validateOnly: boolean;
  },
  context: HandlerContext,
): ChangeInput {
  return {
    programId: toProgramId(request.programId),
    userId: request.userId,
    eventId: request.eventId,
    reason: request.reason,
    ...(request.cause && { cause: request.cause }),
    caller: callerOf(context),
    validateOnly: request.validateOnly,
    deadline: deadlineOf(context),
  };
}

const fromChange = ({ entry, availablePoints, replayed }: ChangeResult) => ({
  entry: fromEntry(entry),
  availablePoints: BigInt(availablePoints),
  replayed,
});
