/** The handlers of the HoldService. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { type HoldSchema, Hold_State as State } from "../../gen/meguri/holds/v1/hold_pb.ts";
import {
  type HoldService,
  ListHoldsRequestSchema,
} from "../../gen/meguri/holds/v1/hold_service_pb.ts";
import { ExpiredPointsPolicy as Policy } from "../../gen/meguri/points/v1/points_service_pb.ts";
import { callOf } from "../../platform/edge/context.ts";
import {
  type AnnotationsMessage,
  fromAnnotations,
  toAnnotations,
} from "../../platform/messages/annotations.ts";
import { fromCaller } from "../../platform/messages/callers.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { fromInstant, toInstant, toSafeInteger } from "../../platform/messages/scalars.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import { toAccount } from "../../points/rpc/accounts.ts";
import { fromEntry } from "../../points/rpc/ledger-entries.ts";
import type { ExpiredPointsPolicy } from "../../points/rules/points.ts";
import type { Deps } from "../ports/deps.ts";
import { capturedPointsOf, type Hold, type HoldState, pointsOf } from "../rules/hold.ts";
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
      return { hold: fromHold(await getHold(deps, { programId: toProgramId(programId), holdId })) };
    },

    async listHolds(request) {
      const { page, next } = requestedPage(ListHoldsRequestSchema, request);
      const account = toAccount(request);
      const found = await listHolds(deps, account, stateOf.get(request.state), page);
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
});

const fromResult = ({ hold, entry, availablePoints, replayed }: HoldResult) => ({
  hold: fromHold(hold),
  entry: fromEntry(entry),
  availablePoints: BigInt(availablePoints),
  replayed,
});

function fromHold(hold: Hold): MessageInitShape<typeof HoldSchema> {
  return {
    programId: hold.programId,
    holdId: hold.holdId,
    userId: hold.userId,
    points: BigInt(pointsOf(hold)),
    capturedPoints: BigInt(capturedPointsOf(hold)),
    releasedPoints: BigInt(hold.release?.points ?? 0),
    state: states[hold.state],
    until: fromInstant(hold.until),
    expiredPointsPolicy: policies[hold.expiredPointsPolicy],
    ...fromAnnotations(hold),
    creator: fromCaller(hold.creator),
    createTime: fromInstant(hold.createTime),
    updateTime: fromInstant(hold.updateTime),
    entryNumber: BigInt(hold.entryNumber),
    captures: hold.captures.map(({ eventId, points, time, entryNumber, refundedPoints = 0 }) => ({
      eventId,
      points: BigInt(points),
      createTime: fromInstant(time),
      entryNumber: BigInt(entryNumber),
      refundedPoints: BigInt(refundedPoints),
    })),
    releaseEntryNumber: BigInt(hold.release?.entryNumber ?? 0),
  };
}

const states: Readonly<Record<HoldState, State>> = {
  HELD: State.HELD,
  CAPTURED: State.CAPTURED,
  RELEASED: State.RELEASED,
  EXPIRED: State.EXPIRED,
};

const stateOf: ReadonlyMap<State, HoldState> = new Map(
  Object.entries(states).map(([name, state]) => [state, name as HoldState]),
);

const policies: Readonly<Record<ExpiredPointsPolicy, Policy>> = {
  ORIGINAL_EXPIRY: Policy.ORIGINAL_EXPIRY,
  CURRENT_MONTH: Policy.CURRENT_MONTH,
};
