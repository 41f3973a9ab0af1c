/** How actions are stored: in a bulk grant, and as items of their own. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  decodeActed,
  decodeCaller,
  encodeActed,
  encodeCaller,
} from "../../../platform/dynamodb/callers.ts";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import { N, num, S, text } from "../../../platform/dynamodb/sdk/attributes.ts";
import type { Action, ActionName } from "../../rules/bulk-grant.ts";
import { numberedKey } from "./bulk-keys.ts";

/** An action as an item of its own. */
export const bulkAction: Codec<"bulkAction"> = {
  table: "bulk",
  key: (id) => numberedKey("A", id),
  encode: ({ action, revision, caller, starter, time, reason }) => ({
    y: S(action),
    n: N(revision),
    ...encodeCaller("w", caller),
    ...(starter && encodeCaller("b", starter)),
    t: N(time),
    r: S(reason),
  }),
  decode: (item) => ({
    action: text(item, "y") as ActionName,
    revision: num(item, "n"),
    caller: decodeCaller(item, "w"),
    ...(item.b && { starter: decodeCaller(item, "b") }),
    time: num(item, "t"),
    reason: text(item, "r"),
  }),
};

export const encodeAction = ({ action, revision, starter, ...approval }: Action): AttributeValue =>
  encodeActed(approval, [S(action), N(revision)], starter && [starter.service, starter.subject]);

export function decodeAction(value: AttributeValue): Action {
  const [service, time, reason, action, revision, subject, startedBy, startedFor] = value.L ?? [];
  return {
    ...decodeActed(service, time, reason, subject),
    action: action?.S as ActionName,
    revision: Number(revision?.N),
    ...(startedBy && { starter: { service: startedBy.S ?? "", subject: startedFor?.S ?? "" } }),
  };
}
