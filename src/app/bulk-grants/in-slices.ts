/** Cuts the bytes of a sheet, so that reading it does not stop the event loop for long. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** To decode, parse and check so many bytes takes a few milliseconds. */
const sliceBytes = 32 * 2 ** 10;

/** Yields the same bytes in pieces of at most 32 KiB, and lets the event loop turn after each. */
export async function* inSlices(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      yield chunk.subarray(at, at + sliceBytes);
      await nextTurn();
    }
  }
}
