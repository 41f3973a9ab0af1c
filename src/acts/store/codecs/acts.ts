/** How acts are stored. */

import { caller } from "../../../platform/dynamodb/callers.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  either,
  field,
  list,
  maybe,
  numberOf,
  oneOf,
  partOf,
  text,
  tuple,
  unless,
  unlessEmpty,
} from "../../../platform/dynamodb/fields.ts";
import { S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import { type Caller, comparableSubject } from "../../../platform/words/caller.ts";
import { cutToBytes } from "../../../platform/words/display-text.ts";
import type { Instant } from "../../../platform/words/month.ts";
import type { FieldChange } from "../../rules/act.ts";

/** The partition of the acts of a program on one day in UTC. */
export const dayKey = (programId: string, time: Instant): string =>
  `${programId}#${new Date(time).toISOString().slice(0, 10)}`;

/** Compatibility forms may be ten times as long: a cursor has to fit into a page token. */
const maxSubjectBytes = 128;

/** The partition of the index with the acts of a subject in a program, however it is spelled. */
export const subjectKey = (programId: string, subject: Caller["subject"]): string =>
  `${programId}#${cutToBytes(comparableSubject(subject), maxSubjectBytes)}`;

/** The partition of the index with the acts about a user in a program. */
export const userKey = (programId: string, userId: string): string => `${programId}#${userId}`;

const change = tuple<FieldChange>({ field: text, before: text, after: text });

export const act = defineRecord<"act">({
  table: "acts",
  key(id) {
    const [programId = "", time, requestId] = id.split("#");
    return {
      pk: S(dayKey(programId, Number(time))),
      sk: S(`${timeKey(Number(time))}#${requestId}`),
    };
  },
  derived: ({ programId, userId, caller: { subject } }) => ({
    is: S(subjectKey(programId, subject)),
    ...(userId !== undefined && { iu: S(userKey(programId, userId)) }),
  }),
  fields: {
    programId: partOf("pk", 0),
    time: numberOf("sk", 0),
    requestId: partOf("sk", 1),
    caller: caller("w"),
    via: either("y", "TEMPORAL", "CALL"),
    method: field("m", text),
    objectType: field("o", oneOf()),
    objectId: field("i", text),
    userId: maybe(partOf("iu", 1)),
    changes: unlessEmpty("c", list(change)),
    reason: unless("", "r", text),
  },
});
