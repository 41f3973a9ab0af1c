/** Cuts names and titles, which are only displayed, to the size that is stored of them. */

/** The most bytes of UTF-8 in the title of a target or of a bulk grant. */
export const maxTitleBytes = 96;

/** The most bytes of UTF-8 in a reason, and in the cause of a change. */
export const maxReasonBytes = 128;
export const maxCauseBytes = 128;

/** The most bytes of UTF-8 that are stored of a person's name. */
export const maxDisplayNameBytes = 96;

const encoder = new TextEncoder();

/** The bytes of a text in UTF-8. */
export const byteLength = (text: string): number => encoder.encode(text).length;

// The locale is fixed, because the default depends on the machine. Clusters depend on neither.
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * Returns as many whole grapheme clusters, the characters that a reader sees, as fit into
 * `maxBytes` of UTF-8. If not even the first cluster fits, returns as many of its code points as
 * fit, so that a name never becomes empty.
 */
export function cutToBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit has at most three bytes in UTF-8.
  if (3 * text.length <= maxBytes) return text;
  // `read` is the number of UTF-16 units of the whole code points that fit.
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  if (read === text.length) return text;
  const cluster = segmenter.segment(text).containing(read);
  return text.slice(0, cluster?.index || read);
}
