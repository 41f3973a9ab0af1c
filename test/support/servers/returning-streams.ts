/** Streams of unread counts that come from one server to another. */
import { setTimeout as sleep } from "node:timers/promises";
import { rawWatches } from "./raw-watches.ts";

/**
 * Opens a stream of each owner at one server. `returned` resolves when each has been told to come
 * again and has its first message from the other one.
 */
export async function returnStreams(fromPort: number, toPort: number, owners: readonly string[]) {
  const back = rawWatches(toPort);
  const { promise: returned, resolve, reject } = Promise.withResolvers<void>();
  let left = owners.length;
  const comeBack = async (ownerId: string, reopenMs: number) => {
    await sleep(reopenMs);
    await back.open(ownerId);
    left -= 1;
    if (left === 0) resolve();
  };
  const first = rawWatches(fromPort, (...end) => void comeBack(...end).catch(reject));
  await first.openAll(owners);
  const close = () => {
    for (const watches of [first, back]) watches.close();
  };
  return { returned, close };
}
