/** Writes that the network holds, and the life of their signatures when they arrive. */
import { type Answer, expiredSignatureAnswer, type WireRequest } from "./wire.ts";

/** AWS documents five minutes. Nothing may depend on less than 15. */
const signatureLifeMs = 15 * 60_000;

export type HeldWrites = ReturnType<typeof createHeldWrites>;

export function createHeldWrites(operations: readonly string[]) {
  let released: Promise<number> | undefined;
  return {
    /** Holds writes until the function is called that it returns. */
    hold(): (passedMs: number) => void {
      const { promise, resolve } = Promise.withResolvers<number>();
      released = promise;
      return (passedMs) => {
        released = undefined;
        resolve(passedMs);
      };
    },

    /** Waits until the request may go on. Returns the answer to one whose signature is too old. */
    async pass({ operation, rawHeaders }: WireRequest): Promise<Answer | undefined> {
      if (released === undefined || !operations.includes(operation)) return undefined;
      const passedMs = await released;
      const age = Date.now() + passedMs - signedAt(rawHeaders);
      return age > signatureLifeMs ? expiredSignatureAnswer() : undefined;
    },
  };
}

/** The time of a signature, from its header `x-amz-date`, such as `20261129T010203Z`. */
function signedAt(rawHeaders: readonly string[]): number {
  const at = rawHeaders.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === "x-amz-date");
  const [date = "", time = ""] = (rawHeaders[at + 1] ?? "").split("T");
  const days = date.replace(/^(\d{4})(\d{2})(\d{2})$/, "$1-$2-$3");
  const hours = time.replace(/^(\d{2})(\d{2})(\d{2})Z$/, "$1:$2:$3Z");
  const parsed = Date.parse(`${days}T${hours}`);
  if (Number.isNaN(parsed)) throw new Error("a request without a signature");
  return parsed;
}
