/** Maps targets and kinds between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  TargetSchema,
  TargetName as WireName,
} from "../../../gen/meguri/reactions/v1/target_pb.ts";
import { fromInstant, fromOptionalInstant } from "../../../platform/messages/scalars.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import { defaultKind, type ReactionKind } from "../../rules/kinds.ts";
import type { Target } from "../../rules/target.ts";

/** The name of the target in a request. The schema requires the field, so it is set. */
export function toTargetName(request: { readonly targetName?: WireName | undefined }): TargetName {
  const { type, id } = request.targetName as WireName;
  return { type, id };
}

/** A kind of a request, where empty means the default kind. */
export const toKind = (kind: string): ReactionKind => kind || defaultKind;

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
