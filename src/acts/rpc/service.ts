/** The handlers of the ActService. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type ActService, ListActsRequestSchema } from "../../gen/meguri/acts/v1/act_service_pb.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { toInstant, toOptionalInstant } from "../../platform/messages/scalars.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../ports/deps.ts";
import { listActs } from "../use-cases/acts.ts";
import { fromAct } from "./messages.ts";

export const actService = (deps: Deps): ServiceImpl<typeof ActService> => ({
  async listActs(request) {
    const { page, next } = requestedPage(ListActsRequestSchema, request);
    const filter = {
      programId: toProgramId(request.programId),
      subject: request.subject || undefined,
      userId: request.userId || undefined,
      window: {
        // The schema requires the field, so it is set.
        start: toInstant(request.createTimeFrom as Timestamp, "create_time_from"),
        end: toOptionalInstant(request.createTimeBefore, "create_time_before"),
      },
    };
    const found = await listActs(deps, filter, page);
    const { items, unreadable } = found;
    return {
      acts: items.map(fromAct),
      unreadableActs: [...unreadable],
      nextPageToken: next(found),
    };
  },
});
