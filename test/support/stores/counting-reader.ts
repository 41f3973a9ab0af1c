import type { Reader } from "../../../src/app/ports/deps.ts";
import { DomainError } from "../../../src/domain/errors.ts";

/** Counts what is read one by one, and refuses it while the store is `down`. */
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
