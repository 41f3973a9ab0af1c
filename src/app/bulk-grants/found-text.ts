/** Says what was found in a cell, with the names of what one does not see. */
import { cutToBytes } from "../../domain/display-text.ts";

/** A cell in a message is cut to this many bytes. */
const maxShownBytes = 64;

/** Characters that are invisible or look like others, by their names. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/[０-９]/u, "full-width digits"],
  [/[！-／：-～]/u, "full-width characters"],
  [/ /u, "a blank"],
  [/\u00a0/u, "a no-break space"],
  [/\u3000/u, "an ideographic space"],
  [/[\u200b-\u200d\u2060]/u, "a zero-width character"],
  [/\ufeff/u, "a byte order mark"],
  [/\u00ad/u, "a soft hyphen"],
  [/\t/u, "a tab"],
  [/[\r\n\u0085\u2028\u2029]/u, "a line break"],
  [/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u, "a bidirectional control"],
];

/** Invisible characters, but for the blank. */
const invisible = /(?! )[\p{C}\p{Z}]/gu;

/** Returns such as "found `１００`: full-width digits". Invisible characters are shown as <U+00A0>. */
export function foundText(cell: string): string {
  const shown = cutToBytes(cell, maxShownBytes).replaceAll("`", "'").replaceAll(invisible, codeOf);
  const names = kinds.flatMap(([characters, name]) => (characters.test(cell) ? [name] : []));
  return `found \`${shown}\`${names.length > 0 ? `: ${names.join(", ")}` : ""}`;
}

const codeOf = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
