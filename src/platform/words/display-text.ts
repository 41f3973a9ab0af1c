/** Names and titles, which are only displayed: what is stored of them, and which look alike. */
import { DomainError } from "./errors.ts";

/** The most bytes of UTF-8 in the title of a target or of a bulk grant. */
export const maxTitleBytes = 96;

/** The most bytes of UTF-8 in a reason, and in the cause of a change. */
export const maxReasonBytes = 128;
export const maxCauseBytes = 128;

/** The most bytes of UTF-8 that are stored of a person's name. */
export const maxDisplayNameBytes = 96;

const encoder = new TextEncoder();

/** Control characters, separators of lines, and halves of characters. */
const controls = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]+/gu;

/** The marks, embeddings, overrides and isolates that change the direction of the text. */
const bidiControls = /\p{Bidi_Control}+/gu;

/**
 * A character that a reader sees. These are none: blanks (`White_Space`, which has all of `Z`),
 * controls and formats (`Cc`, `Cf`), and what is ignored where it is not known
 * (`Default_Ignorable_Code_Point`: joiners, variation selectors, Hangul fillers, tags). Three more
 * have no ink, though Unicode has them as symbols or marks: the blank Braille pattern, the null
 * note head and the Khitan filler. Unassigned characters (`Cn`) count as visible, because a phone
 * may know a newer Unicode than this server, and private ones (`Co`), because its font may have
 * them.
 */
const visible =
  /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{16fe4}]/u;

/**
 * Returns a name or a title as it is stored: a blank for each run of control characters, without
 * bidirectional controls and without white space at its ends, cut to `maxBytes` of UTF-8 as
 * `cutToBytes` does. Joiners and variation selectors stay, since emoji are made with them. Empty
 * when nothing that is left is visible.
 */
export function toDisplayText(text: string, maxBytes: number): string {
  const stripped = text.replace(controls, " ").replace(bidiControls, "").trim();
  const kept = cutToBytes(stripped, maxBytes).trimEnd();
  return visible.test(kept) ? kept : "";
}

/**
 * Returns a name or a title of a request as it is stored; an empty one stays empty. Refusal:
 * INVALID_REQUEST for one in which nothing is visible.
 */
export function readDisplayText(text: string, maxBytes: number, field: string): string {
  const kept = toDisplayText(text, maxBytes);
  if (kept !== "" || text === "") return kept;
  throw new DomainError("INVALID_REQUEST", `${field}: has no visible character`, { field });
}

/** Characters without ink inside a text: formats, ignorable ones, and the three of `visible`. */
const inkless = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{16fe4}]/gu;

/**
 * Returns the same for texts that look alike: without characters that have no ink, in compatibility
 * form (NFKC: full-width letters are plain ones), in one case, with one blank for a run of them.
 * Letters of other scripts, such as a Cyrillic one for a Latin one, stay different.
 */
export function skeletonOf(text: string): string {
  const folded = text.replace(inkless, "").normalize("NFKC").toUpperCase();
  // A capital may be several characters, which compose with what follows: "\u0149" is one.
  return folded.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();
}

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
