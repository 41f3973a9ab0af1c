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

/** How long a namespace may take to know what was added. */
const patienceMs = 30_000;

/**
 * Registers the search attributes that are not there yet, and waits until the namespace knows them:
 * before that, a start that carries one is refused. Needs the operator API, which Temporal Cloud
 * does not have; there they are made once by hand.
 */
export async function ensureSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<void> {
  const keys = [programKey, userKey, executeTimeKey, stateKey];
  const missing = async () => {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace,
    });
    return keys.filter(({ name }) => !(name in customAttributes));
  };
  const absent = await missing();
  if (absent.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(
        absent.map(({ name, type }) => [name, indexedValueType[type]]),
      ),
    });
  } catch (error) {
    // Another process may have added them meanwhile.
    if ((await missing()).length > 0) throw error;
  }
  const limit = performance.now() + patienceMs;
  while ((await missing()).length > 0) {
    if (performance.now() > limit) throw new Error("the search attributes did not appear");
    await sleep(100);
  }
}
