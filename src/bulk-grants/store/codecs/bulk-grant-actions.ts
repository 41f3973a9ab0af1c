/** How approvals and actions are stored: in a bulk grant, and an action as an item of its own. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { decodeCaller, encodeCaller } from "../../../platform/dynamodb/callers.ts";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import { N, num, S, text } from "../../../platform/dynamodb/sdk/attributes.ts";
import type { Action, ActionName, Approval } from "../../rules/bulk-grant.ts";
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

export const encodeApproval = (approval: Approval): AttributeValue => encodeActed(approval, []);

export function decodeApproval({
  L: [service, time, reason, subject] = [],
}: AttributeValue): Approval {
  return decodeActed(service, time, reason, subject);
}

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

/**
 * A list of service, time, reason, `further` values, the subject if it is not the service or
 * something follows, and what follows.
 */
const encodeActed = (
  { caller: { service, subject }, time, reason }: Approval,
  further: AttributeValue[],
  last: readonly string[] = [],
): AttributeValue => ({
  L: [
    ...[S(service), N(time), S(reason), ...further],
    ...(subject === service && last.length === 0 ? [] : [S(subject)]),
    ...last.map(S),
  ],
});

function decodeActed(
  caller: AttributeValue | undefined,
  time: AttributeValue | undefined,
  reason: AttributeValue | undefined,
  subject: AttributeValue | undefined,
): Approval {
  const service = caller?.S ?? "";
  return {
    caller: { service, subject: subject?.S ?? service },
    time: Number(time?.N),
    reason: reason?.S ?? "",
  };
}
