/** Looks at the first bytes of a sheet, which say what format it has. */

/** The formats differ in these bytes. */
const startBytes = 4;

/** The first bytes, fewer of a shorter sheet, and all bytes, to be read once. */
interface Peeked {
  readonly start: Buffer;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Reads the first bytes. Who stops at them, or before the last ones, returns the chunks. */
export async function peek(chunks: AsyncIterator<Uint8Array>): Promise<Peeked> {
  let start = Buffer.alloc(0);
  while (start.length < startBytes) {
    const { value, done } = await chunks.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield start;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  return { start: start.subarray(0, startBytes), bytes: all() };
}
