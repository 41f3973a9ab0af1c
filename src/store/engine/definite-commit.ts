/** Commits a transaction and finds out what became of it after an ambiguous result. */
import { randomUUID } from "node:crypto";
import type { CommitResult, ItemStore, Write } from "./item-store.ts";

/**
 * Sends the identical transaction under one token until the result is definite, or `limit` has
 * passed by `performance.now()`. After an ambiguous result, a conflict or a throttled request says
 * nothing about the request before it. `backOff` waits before each further request.
 */
export async function commitUntilDefinite(
  store: ItemStore,
  writes: readonly Write[],
  limit: number,
  backOff: () => Promise<void>,
): Promise<CommitResult> {
  const token = randomUUID();
  let isAmbiguous = false;
  for (;;) {
    const result = await store.commit(writes, token);
    isAmbiguous ||= result.kind === "unknown";
    if (!isAmbiguous || result.kind === "committed" || result.kind === "failed") return result;
    await backOff();
    if (performance.now() > limit) return { kind: "unknown" };
  }
}
