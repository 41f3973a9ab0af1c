/** The handlers of the PointsService that write an account. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { EventName } from "../../gen/meguri/points/v1/ledger_entry_pb.ts";
import type { PointsService } from "../../gen/meguri/points/v1/points_service_pb.ts";
import { callOf } from "../../platform/edge/context.ts";
import { type AnnotationsMessage, toAnnotations } from "../../platform/messages/annotations.ts";
import { toOptionalMonth, toSafeInteger } from "../../platform/messages/scalars.ts";
import { parseMonth } from "../../platform/words/month.ts";
import type { Deps } from "../ports/deps.ts";
import {
  type ChangeInput,
  type ChangeResult,
  extendPoints,
  freezeAccount,
  grantPoints,
  revokePoints,
  unfreezeAccount,
  usePoints,
} from "../use-cases/commands.ts";
import { toAccount } from "./accounts.ts";
import { fromEntry, toEventName } from "./ledger-entries.ts";

type Commands =
  | "grantPoints"
  | "usePoints"
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

/** The account that a request changes, its event, and what the call carries. */
export const toChange = (
  request: AnnotationsMessage & {
    readonly programId: string;
    readonly userId: string;
    readonly eventId: string;
    readonly validateOnly: boolean;
  },
  context: HandlerContext,
): ChangeInput => ({
  ...toAccount(request),
  ...toAnnotations(request),
  ...callOf(context, request),
  eventId: request.eventId,
});

/** The response to every change of an account. */
export const fromChange = ({ entry, availablePoints, replayed }: ChangeResult) => ({
  entry: fromEntry(entry),
  availablePoints: BigInt(availablePoints),
  replayed,
});
