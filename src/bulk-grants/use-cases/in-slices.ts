/** Cuts the bytes of a sheet, so that reading it does not stop the event loop for long. */
import { createTurns } from "../../platform/work/turns.ts";

/** The shortest rows are the slowest to check by far: 256 of them take a few milliseconds. */
const sliceBytes = 2 ** 10;

/** Waits for the next turn of the event loop that no other sheet has. */
export const nextTurn = createTurns();

/** Yields the same bytes in chunks of at most 1 KiB, each in its own turn of the event loop. */
export async function* inSlices(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      await nextTurn();
      yield chunk.subarray(at, at + sliceBytes);
    }
  }
}
