/** Range keys that begin with a time, and the records of a window of them. */
import type { Window } from "../ports/pages.ts";
import type { Instant } from "../words/month.ts";
import { pad } from "./sdk/attributes.ts";

/** A time in a range key, padded so that it sorts as text in the order of times. */
export const timeKey = (time: Instant): string => pad(time, 15);

/**
 * The condition for times in a window, under the key `key` of the index with the hash attribute
 * `hash`, and after the range key `after` if given. The window may start later than `after`: one of
 * what is pending starts now.
 */
export function inTimeWindow(hash: string, key: string, { start, end }: Window, after?: string) {
  const first = timeKey(start ?? 0);
  const from = after !== undefined && after > first ? `${after} ` : first;
  const to = end === undefined ? "~" : timeKey(end);
  return {
    KeyConditionExpression: "#h = :h AND ix BETWEEN :from AND :to",
    ExpressionAttributeNames: { "#h": hash },
    ExpressionAttributeValues: { ":h": { S: key }, ":from": { S: from }, ":to": { S: to } },
  };
}
