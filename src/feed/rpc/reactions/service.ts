/** The handlers of the ReactionService, and targets in messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type ReactionSchema,
  type ReactionSummarySchema,
  ReactionSummary_State as State,
} from "../../../gen/meguri/reactions/v1/reaction_pb.ts";
import {
  ListTargetReactionsRequestSchema,
  ListUserReactionsRequestSchema,
  type ReactionService,
  type UnreactRequest,
} from "../../../gen/meguri/reactions/v1/reaction_service_pb.ts";
import type {
  TargetSchema,
  TargetName as WireName,
} from "../../../gen/meguri/reactions/v1/target_pb.ts";
import { callOf } from "../../../platform/edge/context.ts";
import { requestedPage } from "../../../platform/messages/page-tokens.ts";
import {
  fromInstant,
  fromOptionalInstant,
  toMilliseconds,
} from "../../../platform/messages/scalars.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { Deps } from "../../ports/deps.ts";
import type { Reaction, Target } from "../../rules/target.ts";
import {
  type ReactionInput,
  type ReactionResult,
  react,
  unreact,
} from "../../use-cases/reactions/commands.ts";
import {
  listTargetReactions,
  listUserReactions,
  type ReactionSummary,
  reactionSummaries,
} from "../../use-cases/reactions/queries.ts";
import { deleteTarget, registerTarget } from "../../use-cases/reactions/targets.ts";
import { toKinds, toReactionKind } from "../kinds.ts";

export function reactionService(deps: Deps): ServiceImpl<typeof ReactionService> {
  return {
    async registerTarget(request, context) {
      const { ownerId, title, link } = request;
      const target = toTargetName(request);
      const input = { target, ownerId, title, link, ...callOf(context) };
      return { target: fromTarget(await registerTarget(deps, input)) };
    },

    async deleteTarget(request, context) {
      const input = { target: toTargetName(request), ...callOf(context) };
      return { target: fromTarget(await deleteTarget(deps, input)) };
    },

    async react(request, context) {
      const { displayName, exclusive, suppressNotification, coolDown, regroupAfter } = request;
      const coolDownMs = coolDown && toMilliseconds(coolDown, "cool_down");
      const regroupAfterMs = regroupAfter && toMilliseconds(regroupAfter, "regroup_after");
      const how = { exclusive, suppressNotification, coolDownMs, regroupAfterMs };
      return fromResult(await react(deps, { ...toInput(request, context), displayName, ...how }));
    },

    unreact: async (request, context) => fromResult(await unreact(deps, toInput(request, context))),

    async batchGetReactionSummaries(request) {
      const names = request.targetNames.map((targetName) => toTargetName({ targetName }));
      const summaries = await reactionSummaries(deps, names, {
        viewerId: request.viewerId || undefined,
        latest: request.includeLatestActors,
      });
      return { summaries: summaries.map(fromSummary) };
    },

    async listTargetReactions(request) {
      const { page, next } = requestedPage(ListTargetReactionsRequestSchema, request);
      const found = await listTargetReactions(
        deps,
        toTargetName(request),
        toReactionKind(request.kind),
        page,
      );
      return { reactions: found.items.map(fromReaction), nextPageToken: next(found) };
    },

    async listUserReactions(request) {
      const { page, next } = requestedPage(ListUserReactionsRequestSchema, request);
      const kinds = toKinds(request.kinds, "kinds");
      const found = await listUserReactions(deps, request.userId, kinds, page);
      return { reactions: found.items.map(fromReaction), nextPageToken: next(found) };
    },
  };
}

/** The name of the target in a request. The schema requires the field, so it is set. */
export function toTargetName(request: { readonly targetName?: WireName | undefined }): TargetName {
  const { type, id } = request.targetName as WireName;
  return { type, id };
}

export function fromTarget(target: Target): MessageInitShape<typeof TargetSchema> {
  const { type, id, ownerId, title, link, muted, createTime, updateTime, deleteTime } = target;
  return {
    targetName: { type, id },
    ownerId,
    title,
    link,
    muted,
    createTime: fromInstant(createTime),
    updateTime: fromInstant(updateTime),
    deleteTime: fromOptionalInstant(deleteTime),
  };
}

const toInput = (
  request: Pick<UnreactRequest, "targetName" | "kind" | "userId">,
  context: HandlerContext,
): ReactionInput => ({
  target: toTargetName(request),
  kind: toReactionKind(request.kind),
  userId: request.userId,
  ...callOf(context),
});

const fromResult = ({ changed, reactionCount }: ReactionResult) => ({
  changed,
  reactionCount: BigInt(reactionCount),
});

const states: Readonly<Record<ReactionSummary["state"], State>> = {
  ACTIVE: State.ACTIVE,
  UNKNOWN: State.UNKNOWN,
  DELETED: State.DELETED,
};

function fromSummary({
  target,
  state,
  counts,
  own,
  latest,
}: ReactionSummary): MessageInitShape<typeof ReactionSummarySchema> {
  const inOrder = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    targetName: { ...target },
    state: states[state],
    counts: inOrder.map(([kind, count]) => ({
      kind,
      reactionCount: BigInt(count),
      viewerReacted: own.includes(kind),
      latestActors: (latest.get(kind) ?? []).map(fromActor),
    })),
  };
}

/** A person who reacts. */
const fromActor = ({ userId, displayName, createTime }: Reaction) => ({
  userId,
  displayName,
  createTime: fromInstant(createTime),
});

const fromReaction = (reaction: Reaction): MessageInitShape<typeof ReactionSchema> => ({
  targetName: { ...reaction.target },
  kind: reaction.kind,
  ...fromActor(reaction),
});
