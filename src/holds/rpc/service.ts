/** The handlers of the HoldService. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  Hold_CaptureSchema,
  Hold_StateSchema,
  HoldSchema,
} from "../../gen/meguri/holds/v1/hold_pb.ts";
import {
  type HoldService,
  ListHoldsRequestSchema,
} from "../../gen/meguri/holds/v1/hold_service_pb.ts";
import { ExpiredPointsPolicy as Policy } from "../../gen/meguri/points/v1/points_service_pb.ts";
import { callOf, identityOf } from "../../platform/edge/context.ts";
import { type AnnotationsMessage, toAnnotations } from "../../platform/messages/annotations.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { fromRecord, toEnumName } from "../../platform/messages/records.ts";
import { toInstant, toSafeInteger } from "../../platform/messages/scalars.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import { toAccount } from "../../points/rpc/accounts.ts";
import { fromEntry } from "../../points/rpc/ledger-entries.ts";
import type { EventKey } from "../../points/rules/ledger.ts";
import type { Deps } from "../ports/deps.ts";
import { captureIdOf, capturesLeftOf, type Hold, type HoldState, pointsOf } from "../rules/hold.ts";
import { capturePoints, type HoldResult, holdPoints, releaseHold } from "../use-cases/commands.ts";
import { getHold, listHolds } from "../use-cases/queries.ts";

export function holdService(deps: Deps): ServiceImpl<typeof HoldService> {
  return {
    async holdPoints(request, context) {
      const { allowPartial, expiredPointsPolicy: policy } = request;
      const input = {
        ...toRequest(request, context),
        points: toSafeInteger(request.points, "points"),
        allowPartial,
        // The schema requires the field, so it is set.
        until: toInstant(request.until as Timestamp, "until"),
        expiredPointsPolicy: policy === Policy.CURRENT_MONTH ? "CURRENT_MONTH" : "ORIGINAL_EXPIRY",
      } as const;
      return fromResult(await holdPoints(deps, input));
    },

    async capturePoints(request, context) {
      const { eventId, points, moreCapturesFollow: moreFollow } = request;
      const input = {
        ...toRequest(request, context),
        eventId,
        points: points === undefined ? undefined : toSafeInteger(points, "points"),
        moreFollow,
      };
      return fromResult(await capturePoints(deps, input));
    },

    releaseHold: async (request, context) =>
      fromResult(await releaseHold(deps, toRequest(request, context))),

    async getHold({ programId, holdId }) {
      const name = { programId: toProgramId(programId), holdId };
      const { hold, captures } = await getHold(deps, name);
      return { hold: fromHold(hold), captures: captures.map((each) => fromCapture(hold, each)) };
    },

    async listHolds(request) {
      const { page, next } = requestedPage(ListHoldsRequestSchema, request);
      const account = toAccount(request);
      const found = await listHolds(
        deps,
        account,
        toEnumName<HoldState>(Hold_StateSchema, request.state),
        page,
      );
      return { holds: found.items.map(fromHold), nextPageToken: next(found) };
    },
  };
}

const toRequest = (
  request: AnnotationsMessage & {
    readonly programId: string;
    readonly userId: string;
    readonly holdId: string;
    readonly validateOnly: boolean;
  },
  context: HandlerContext,
) => ({
  ...toAccount(request),
  holdId: request.holdId,
  ...toAnnotations(request),
  ...callOf(context, request),
  ownHoldsOnly: identityOf(context.values).holds === "own",
});

const fromResult = ({ hold, entry, availablePoints, replayed }: HoldResult) => ({
  hold: fromHold(hold),
  entry: fromEntry(entry),
  availablePoints: BigInt(availablePoints),
  replayed,
});

/** The message of a hold. */
export const fromHold = (hold: Hold): MessageInitShape<typeof HoldSchema> =>
  fromRecord(HoldSchema, {
    ...hold,
    points: pointsOf(hold),
    releasedPoints: hold.release?.points,
    releaseEntryNumber: hold.release?.entryNumber,
    capturesLeft: capturesLeftOf(hold),
  });

const fromCapture = ({ holdId }: Hold, { entry, reversedPoints }: EventKey) =>
  fromRecord(Hold_CaptureSchema, {
    ...entry,
    eventId: captureIdOf(holdId, entry.event),
    entryNumber: entry.number,
    refundedPoints: reversedPoints,
  });
