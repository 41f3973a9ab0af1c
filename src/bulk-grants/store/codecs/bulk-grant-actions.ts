/** How actions are stored: in a bulk grant, and as items of their own. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { caller, decodeActed, encodeActed } from "../../../platform/dynamodb/callers.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import { field, maybe, number, oneOf, type Type, text } from "../../../platform/dynamodb/fields.ts";
import { N, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import type { Action, ActionName } from "../../rules/bulk-grant.ts";
import { numberedKey } from "./bulk-keys.ts";

/** An action as an item of its own. */
export const bulkAction = defineRecord<"bulkAction">({
  table: "bulk",
  key: (id) => numberedKey("A", id),
  fields: {
    action: field("y", oneOf<ActionName>()),
    revision: field("n", number),
    caller: caller("w"),
    starter: maybe(caller("b")),
    time: field("t", number),
    reason: field("r", text),
  },
});

export const action: Type<Action> = {
  encode: ({ action, revision, starter, ...approval }) =>
    encodeActed(approval, [S(action), N(revision)], starter && [starter.service, starter.subject]),
  decode: ({ L: values = [] }) => decodeAction(values),
  none: () => decodeAction([]),
};

function decodeAction(values: readonly AttributeValue[]): Action {
  const [service, time, reason, name, revision, subject, startedBy, startedFor] = values;
  return {
    ...decodeActed(service, time, reason, subject),
    action: name?.S as ActionName,
    revision: Number(revision?.N),
    ...(startedBy && { starter: { service: startedBy.S ?? "", subject: startedFor?.S ?? "" } }),
  };
}
