/** A reader that counts the reads of single records, and refuses them while it is `down`. */
import type { Reader } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";

export function countingReader(reader: Reader) {
  const state = { reads: 0, down: false };
  const counting: Reader = {
    ...reader,
    async get(ref) {
      state.reads += 1;
      if (state.down) throw new DomainError("STORE_UNAVAILABLE", "down");
      return reader.get(ref);
    },
  };
  return { state, counting };
}
