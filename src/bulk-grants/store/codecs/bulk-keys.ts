/** The keys of the numbered items of a bulk grant: revisions, their summaries, and actions. */
import { type Item, pad, S } from "../../../platform/dynamodb/sdk/attributes.ts";

/** A revision needs a sheet. An action needs a call, so nobody must use up its numbers by calls. */
const digits = { R: 6, S: 6, A: 12 } as const;

/** The id is that of the bulk grant and the number. */
export function numberedKey(kind: keyof typeof digits, id: string): Item {
  const [programId, bulkGrantId, number] = id.split("#");
  const sk = S(`${kind}#${pad(Number(number), digits[kind])}`);
  return { pk: S(`G#${programId}#${bulkGrantId}`), sk };
}
