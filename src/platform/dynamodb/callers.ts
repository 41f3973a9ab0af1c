/** How callers and approvals are stored: the subject only where it is not the service. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Approval, Caller } from "../words/caller.ts";
import { type Item, N, S, text } from "./sdk/attributes.ts";

/** The attribute `name` has the service; `name` and an "s" has the subject if it differs. */
export const encodeCaller = (name: string, { service, subject }: Caller): Item => ({
  [name]: S(service),
  ...(subject !== service && { [`${name}s`]: S(subject) }),
});

/** An item with the service only has the service as its subject, too. */
export function decodeCaller(item: Item, name: string): Caller {
  const service = text(item, name);
  return { service, subject: item[`${name}s`] ? text(item, `${name}s`) : service };
}

export const encodeApproval = (approval: Approval): AttributeValue => encodeActed(approval, []);

export function decodeApproval({
  L: [service, time, reason, subject] = [],
}: AttributeValue): Approval {
  return decodeActed(service, time, reason, subject);
}

/**
 * A list of service, time, reason, `further` values, the subject if it is not the service or
 * something follows, and what follows.
 */
export const encodeActed = (
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

export function decodeActed(
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
