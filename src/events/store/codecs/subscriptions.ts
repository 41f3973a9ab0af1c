/** How the state of a subscription is stored. */
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import { field, number, optional, text } from "../../../platform/dynamodb/fields.ts";
import { S } from "../../../platform/dynamodb/sdk/attributes.ts";

export const subscription = defineRecord<"subscription">({
  table: "events",
  key: (name) => ({ pk: S(`S#${name}`), sk: S("S") }),
  fields: {
    logId: field("l", text),
    number: field("n", number),
    index: field("i", number),
    time: optional("t", number),
    failingSince: optional("f", number),
    failure: optional("r", text),
    pausedSince: optional("p", number),
  },
});
