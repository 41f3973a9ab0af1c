/** How callers are stored: the service, and the subject only where it is another one. */
import type { Caller } from "../words/caller.ts";
import { type Item, S, text } from "./sdk/attributes.ts";

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
