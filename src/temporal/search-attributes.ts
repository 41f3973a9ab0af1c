/** The custom search attributes of the project's workflows, and their registration. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "@temporalio/client";
import { defineSearchAttributeKey } from "@temporalio/common";
import { searchAttributes } from "../contract.ts";

export const programKey = defineSearchAttributeKey(searchAttributes.program, "KEYWORD");
export const userKey = defineSearchAttributeKey(searchAttributes.user, "KEYWORD");
export const executeTimeKey = defineSearchAttributeKey(searchAttributes.executeTime, "DATETIME");
export const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");

/** `temporal.api.enums.v1.IndexedValueType`, which the client's packages do not export. */
const indexedValueType = { KEYWORD: 2, DATETIME: 6 } as const;

/** How long a namespace may take to apply added attributes. */
const timeoutMs = 30_000;

/**
 * Registers missing search attributes, and waits until the namespace has applied them: before that,
 * it refuses to start a workflow with one. Needs the operator API. Temporal Cloud does not have it;
 * there the attributes have to be created once by hand.
 */
export async function ensureSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<void> {
  const keys = [programKey, userKey, executeTimeKey, stateKey];
  const readMissing = async () => {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace,
    });
    return keys.filter(({ name }) => !(name in customAttributes));
  };
  const missing = await readMissing();
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(
        missing.map(({ name, type }) => [name, indexedValueType[type]]),
      ),
    });
  } catch (error) {
    // Another process may have added them meanwhile.
    if ((await readMissing()).length > 0) throw error;
  }
  const limit = performance.now() + timeoutMs;
  while ((await readMissing()).length > 0) {
    if (performance.now() > limit) throw new Error("the search attributes did not appear");
    await sleep(100);
  }
}
