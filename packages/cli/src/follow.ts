/** Follows what changes as long as it takes, and says when no server answers. */
import type { WatchOptions } from "@meguri/client";
import type { Session } from "./session.ts";

/**
 * Yields what a watch of the client yields. A server that has not answered yet ends it, as any
 * other command; of one that stops answering later a note says so, and the watch goes on.
 */
export async function* follow<T>(
  { out, call, connection }: Session,
  watch: (options: WatchOptions) => AsyncIterable<T>,
  hasAnswered = false,
): AsyncGenerator<T> {
  let isAnswered = hasAnswered;
  const onBroken: WatchOptions["onBroken"] = (error) => {
    if (!isAnswered) throw error;
    void out.note(`no answer from ${connection.url}: ${error.rawMessage}; trying again`);
  };
  for await (const value of watch({ ...call, onBroken })) {
    isAnswered = true;
    yield value;
  }
}
