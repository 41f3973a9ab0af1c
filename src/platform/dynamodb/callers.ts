/** How callers and approvals are stored: the subject only where it is not the service. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Approval, Caller } from "../words/caller.ts";
import { type Field, field, type Type, text } from "./fields.ts";
import { N, S } from "./sdk/attributes.ts";

/** The attribute has the service; the one with an "s" behind its name the subject if it differs. */
export function caller(attribute: string): Field<Caller> {
  const [service, subject] = [field(attribute, text), field(`${attribute}s`, text)];
  return {
    attribute,
    put(value, item) {
      service.put(value.service, item);
      if (value.subject !== value.service) subject.put(value.subject, item);
    },
    get: (item) => ({
      service: service.get(item),
      subject: (item[subject.attribute] === undefined ? service : subject).get(item),
    }),
  };
}

export const approval: Type<Approval> = {
  encode: (value) => encodeActed(value, []),
  decode: ({ L: [service, time, reason, subject] = [] }) =>
    decodeActed(service, time, reason, subject),
  none: () => decodeActed(),
};

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
  service?: AttributeValue,
  time?: AttributeValue,
  reason?: AttributeValue,
  subject?: AttributeValue,
): Approval {
  const { S: name = "" } = service ?? {};
  return {
    caller: { service: name, subject: subject?.S ?? name },
    time: Number(time?.N ?? 0),
    reason: reason?.S ?? "",
  };
}
