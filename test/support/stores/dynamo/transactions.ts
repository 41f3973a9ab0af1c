/**
 * Transactions on tables in memory, with the isolation that AWS documents: a transaction checks the
 * conditions of all its items at once and locks them. Then each item is applied and unlocked by
 * itself, so that plain reads may see a part of it. Without a hook all of this is one step.
 */
import { isDeepStrictEqual } from "node:util";
import type {
  AttributeValue,
  CancellationReason,
  TransactGetItemsCommandInput,
  TransactGetItemsCommandOutput,
  TransactWriteItemsCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../../src/platform/dynamodb/sdk/attributes.ts";
import { total } from "../../../../src/platform/dynamodb/sdk/item-size.ts";
import { conditionOf } from "../../../../tools/dynamo-proxy/expressions.ts";
import { UnsupportedRequest } from "../../../../tools/dynamo-proxy/wire.ts";
import { cancelled, invalid, refusal } from "./errors.ts";
import { checkedKey, checkedSize, copyOf, keyOf, type Table } from "./items.ts";
import { checkExpressions, checkItems } from "./requests.ts";

/** Called before an item of a transaction is applied, and before a plain read returns an item. */
export type BeforeItem = (op: "apply" | "read", table: Table, key: string) => unknown;

/** The limits of one transaction. */
const maxItems = 100;
const maxBytes = 4 * 2 ** 20;

/** An action of a transaction, or a request that writes one item. */
export interface Action {
  readonly TableName: string | undefined;
  readonly Item?: Item | undefined;
  readonly Key?: Item | undefined;
  readonly ConditionExpression?: string | undefined;
  readonly ExpressionAttributeNames?: Record<string, string> | undefined;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue> | undefined;
  readonly ReturnValuesOnConditionCheckFailure?: "ALL_OLD" | "NONE" | undefined;
}

/** A checked action, with its item as it is now. */
interface ItemWrite {
  readonly table: Table;
  readonly key: string;
  /** The size of the item that is put. */
  readonly bytes: number;
  readonly isLocked: boolean;
  readonly isMet: boolean;
  /** The item that is returned when the condition fails. */
  readonly old: Item | undefined;
  apply(): void;
}

type TableOf = (name: string | undefined) => Table;

/** Checks a request that puts or deletes an item, or only checks its condition. */
export function itemWrite(tableOf: TableOf, op: string, action: Action): ItemWrite {
  const table = tableOf(action.TableName);
  checkExpressions(action);
  const { Item: item, Key } = action;
  const bytes = item ? checkedSize(table, item) : 0;
  const key = item ? keyOf(item, table.primary.keys) : checkedKey(table, Key ?? {});
  // The bytes on the wire: later changes of the item have no effect.
  const sent = item && copyOf(item);
  const found = table.rows.get(key)?.item;
  return {
    ...{ table, key, bytes },
    isLocked: table.locked.has(key),
    isMet: conditionOf(action.ConditionExpression, action)(found ?? {}),
    old: action.ReturnValuesOnConditionCheckFailure === "ALL_OLD" ? found : undefined,
    apply() {
      if (sent) table.put(sent, bytes);
      else if (op === "Delete") table.delete(key);
    },
  };
}

/** A transaction that was accepted with its token. */
interface Accepted {
  readonly actions: unknown;
  isApplied: boolean;
}

export function createTransactions(tableOf: TableOf, hook: () => BeforeItem | undefined) {
  const tokens = new Map<string, Accepted>();

  /** Whether a transaction was accepted under this token before. Throws if it was another one. */
  function isKnown(token: string, actions: unknown): boolean {
    const known = tokens.get(token);
    if (!known) return false;
    if (!isDeepStrictEqual(known.actions, actions)) {
      throw refusal("IdempotentParameterMismatchException", "the transaction is another one");
    }
    if (!known.isApplied) {
      throw refusal("TransactionInProgressException", "the transaction is in progress");
    }
    return true;
  }

  async function applyEach(writes: readonly ItemWrite[], wait: BeforeItem): Promise<void> {
    for (const { table, key } of writes) table.locked.add(key);
    await Promise.all(
      writes.map(async ({ table, key, apply }) => {
        await wait("apply", table, key);
        apply();
        table.locked.delete(key);
      }),
    );
  }

  return {
    async write({ TransactItems = [], ClientRequestToken: token }: TransactWriteItemsCommandInput) {
      if (!token || token.length > 36) throw invalid("a token has 1 to 36 characters");
      const actions = TransactItems.map(actionOf);
      const writes = actions.map(([op, action]) => itemWrite(tableOf, op, action));
      checkItems(writes.map(onlyKey), maxItems);
      if (total(writes, ({ bytes }) => bytes) > maxBytes)
        throw invalid("a transaction has at most 4 MB");
      if (isKnown(token, actions)) return {};
      const reasons = writes.map(reasonOf);
      if (reasons.some(({ Code }) => Code !== "None")) throw cancelled(reasons);
      const accepted = { actions, isApplied: false };
      tokens.set(token, accepted);
      const wait = hook();
      if (wait) await applyEach(writes, wait);
      else for (const { apply } of writes) apply();
      accepted.isApplied = true;
      return {};
    },

    async read({
      TransactItems = [],
    }: TransactGetItemsCommandInput): Promise<Omit<TransactGetItemsCommandOutput, "$metadata">> {
      const items = TransactItems.map(({ Get }) => {
        const table = tableOf(Get?.TableName);
        return { table, key: checkedKey(table, Get?.Key ?? {}) };
      });
      checkItems(items.map(onlyKey), maxItems);
      const locked = items.map(({ table, key }) => table.locked.has(key));
      if (locked.includes(true)) throw cancelled(locked.map((each) => (each ? conflict : none)));
      return {
        Responses: items.map(({ table, key }) => {
          const found = table.rows.get(key)?.item;
          return found ? { Item: found } : {};
        }),
      };
    },
  };
}

const onlyKey = ({ table, key }: { readonly table: Table; readonly key: string }) => ({
  table,
  keys: [key],
});

const none: CancellationReason = { Code: "None" };
const conflict: CancellationReason = {
  Code: "TransactionConflict",
  Message: "Transaction is ongoing for the item",
};

function reasonOf({ isLocked, isMet, old }: ItemWrite): CancellationReason {
  if (isLocked) return conflict;
  if (isMet) return none;
  const Message = "The conditional request failed";
  return { Code: "ConditionalCheckFailed", Message, ...(old && { Item: old }) };
}

type TransactItem = NonNullable<TransactWriteItemsCommandInput["TransactItems"]>[number];

function actionOf(item: TransactItem): [string, Action] {
  const [[op, action] = [""], ...more] = Object.entries(item);
  if (more.length > 0 || !["Put", "Delete", "ConditionCheck"].includes(op)) {
    throw new UnsupportedRequest(`the action ${Object.keys(item)}`);
  }
  return [op, action as Action];
}
