/** How jobs are stored: what their kinds ask and find, as JSON. */
import { caller } from "../../../platform/dynamodb/callers.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  as,
  field,
  group,
  maybe,
  number,
  partOf,
  text,
} from "../../../platform/dynamodb/fields.ts";
import { S } from "../../../platform/dynamodb/sdk/attributes.ts";

/** The partition of a program's jobs, and the prefix of the sort keys of one kind. */
export const jobsKey = (programId: string): string => `O#${programId}`;
export const kindPrefix = (kind: string): string => `${kind}#`;

const json = as(text, JSON.stringify, JSON.parse);

export const job = defineRecord<"job">({
  table: "points",
  key(id) {
    const [programId = "", kind = "", jobId] = id.split("#");
    return { pk: S(jobsKey(programId)), sk: S(`${kindPrefix(kind)}${jobId}`) };
  },
  fields: {
    programId: partOf("pk", 1),
    kind: partOf("sk", 0),
    jobId: partOf("sk", 1),
    hash: field("h", text),
    caller: caller("w"),
    createTime: field("t", number),
    request: field("q", json),
    result: maybe(group({ endTime: field("d", number), sum: field("r", json) })),
  },
});
