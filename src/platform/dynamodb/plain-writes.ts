/**
 * Plain writes: PutItem and DeleteItem under the condition of a transaction with this one action,
 * at half its units. They have no ClientRequestToken: a creation that is sent again is known by its
 * item.
 */
import type { Put } from "@aws-sdk/client-dynamodb";
import type { Write } from "../engine/item-store.ts";
import type { Codecs } from "./codec.ts";

/** Whether the writes of a transaction, by items, are one that may be plain (`Codec`). */
export function isPlain(packed: readonly (readonly Write[])[], codecs: Codecs): boolean {
  const [[write] = []] = packed;
  if (!write || packed.length > 1 || !codecs[write.ref.kind].plainWrites) return false;
  return write.op === "delete" || (write.op === "put" && write.version === 0);
}

/**
 * Adds the token of a creation to the item: sent again, it replaces what it has written itself. The
 * next write of the record drops the token.
 */
export function withToken(put: Put, token: string) {
  const k = { B: Buffer.from(token.replaceAll("-", ""), "hex") };
  return {
    ...put,
    Item: { ...put.Item, k },
    ConditionExpression: `${put.ConditionExpression} OR k = :k`,
    ExpressionAttributeValues: { ":k": k },
  };
}
