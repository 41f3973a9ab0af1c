/** The handlers that notify owners of events and retract events. */
import type { ServiceImpl } from "@connectrpc/connect";
import type { NotificationService } from "../../../gen/meguri/notifications/v1/notification_service_pb.ts";
import { callOf } from "../../../platform/edge/context.ts";
import { toMilliseconds } from "../../../platform/messages/scalars.ts";
import type { Deps } from "../../ports/deps.ts";
import { notify } from "../../use-cases/notifications/notify.ts";
import { retractEvent } from "../../use-cases/notifications/retract.ts";
import { toKind } from "../kinds.ts";
import { toTargetName } from "../reactions/service.ts";

type Handlers = Pick<ServiceImpl<typeof NotificationService>, "notify" | "retractEvent">;

export function events(deps: Deps): Handlers {
  return {
    async notify(request, context) {
      const { eventId, kind, userId, displayName, link, data, cause, ownerIds } = request;
      const { regroupAfter } = request;
      const results = await notify(deps, {
        eventId,
        target: request.targetName && toTargetName(request),
        kind: toKind(kind),
        actor: { userId, displayName },
        link,
        data,
        cause,
        ownerIds,
        regroupAfterMs: regroupAfter && toMilliseconds(regroupAfter, "regroup_after"),
        ...callOf(context),
      });
      return {
        notified: results.some(({ notified }) => notified),
        replayed: results.every(({ replayed }) => replayed),
        results,
      };
    },

    async retractEvent(request, context) {
      const { eventId, ownerIds } = request;
      const results = await retractEvent(deps, {
        eventId,
        target: request.targetName && toTargetName(request),
        ownerIds,
        ...callOf(context),
      });
      return { results };
    },
  };
}
