/** Commits a transaction and finds out what became of it after an ambiguous result. */
import { randomUUID } from "node:crypto";
import type { CommitResult } from "./item-store.ts";

/**
 * Sends the identical transaction under one token, by `commit`, until the result is definite or no
 * caller waits any longer. After an ambiguous result, a conflict or a throttled request says
 * nothing about the request before it. `backOff` waits before each further request.
 */
export async function commitUntilDefinite(
  commit: (token: string) => Promise<CommitResult>,
  isAwaited: () => boolean,
  backOff: () => Promise<void>,
): Promise<CommitResult> {
  const token = randomUUID();
  let isAmbiguous = false;
  for (;;) {
    const result = await commit(token);
    isAmbiguous ||= result.kind === "unknown";
    if (!isAmbiguous || result.kind === "committed" || result.kind === "failed") return result;
    await backOff();
    if (!isAwaited()) return { kind: "unknown" };
  }
}
