/** The message of an act. */
import { ActSchema } from "../../gen/meguri/acts/v1/act_pb.ts";
import { fromRecord } from "../../platform/messages/records.ts";
import type { Act } from "../rules/act.ts";

export const fromAct = ({ time, ...act }: Act) =>
  fromRecord(ActSchema, { ...act, createTime: time });
