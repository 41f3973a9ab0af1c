/** The shared strings of a workbook, which cells name by their index. */
import { maxSheetBytes } from "../../rules/sheet.ts";
import type { HeldBytes } from "./held-bytes.ts";
import { readXml } from "./read-xml.ts";
import { createTextReader } from "./rich-text.ts";
import { tooLargeError } from "./workbook-error.ts";

/** Texts by their index. */
export interface SharedStrings {
  /** Returns undefined for an index beyond the last text. */
  at(index: number): string | undefined;
}

/** An offset takes as many bytes as a number of 32 bits. */
const offsetBytes = 4;

/**
 * Reads the shared strings into one buffer and an offset for each, which take a few bytes more than
 * the texts, where an array of strings takes some ten times as many. Refusal: TOO_LARGE when both
 * together take more than `maxBytes`, beside those of `held` and of `readXml`.
 */
export async function readSharedStrings(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  held: Pick<HeldBytes, "add">,
  maxBytes = maxSheetBytes,
): Promise<SharedStrings> {
  let texts = Buffer.allocUnsafe(2 ** 16);
  let ends = new Uint32Array(2 ** 12);
  let [length, count] = [0, 0];

  function add(text: string): void {
    const end = length + Buffer.byteLength(text);
    if (end + (count + 1) * offsetBytes > maxBytes) {
      throw tooLargeError("the texts of the workbook exceed 32 MiB");
    }
    held.add(end - length + offsetBytes);
    if (end > texts.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, texts.length * 2));
      texts.copy(larger, 0, 0, length);
      texts = larger;
    }
    if (count === ends.length) {
      const larger = new Uint32Array(count * 2);
      larger.set(ends);
      ends = larger;
    }
    texts.write(text, length);
    ends[count] = end;
    length = end;
    count += 1;
  }

  const reader = createTextReader("/sst/si");
  const parsed = readXml(name, bytes, {
    onText: reader.onText,
    onClose(path) {
      if (path === "/sst/si") add(reader.take());
    },
  });
  for await (const _ of parsed);
  return {
    at(index) {
      if (!Number.isInteger(index) || index < 0 || index >= count) return undefined;
      return texts.toString("utf8", index === 0 ? 0 : ends[index - 1], ends[index]);
    },
  };
}
