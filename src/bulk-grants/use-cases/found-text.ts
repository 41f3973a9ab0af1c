/** Says what was found in a cell, with the names of what one does not see. */
import { cutToBytes } from "../../platform/words/display-text.ts";

/** A cell in a message is cut to this many bytes, codes of invisible characters included. */
const maxShownBytes = 64;

/** A message names so many kinds of characters, because it is stored with its row. */
const maxNames = 3;

/** Characters that are invisible or look like others, by their names. DI: ignored where shown. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/[０-９]/, "full-width digits"],
  [/[！-／：-～]/, "full-width characters"],
  [/ /, "a blank"],
  [/\u00a0/, "a no-break space"],
  [/\u3000/, "an ideographic space"],
  [/[\u1680\u2000-\u200a\u202f\u205f]/, "a Unicode space"],
  [/[\u200b-\u200d\u2060]/, "a zero-width character"],
  [/\ufeff/, "a byte order mark"],
  [/\u00ad/, "a soft hyphen"],
  [/\t/, "a tab"],
  [/[\r\n\u0085\u2028\u2029]/, "a line break"],
  [/(?![\t\r\n\u0085])\p{Cc}/u, "a control character"],
  [/\p{Co}/u, "a private-use character"],
  [/[\u2400-\u2426]/, "a control picture"],
  [/\u200e/, "a left-to-right mark"],
  [/[\u061c\u200f]/, "a right-to-left mark"],
  [/[\u202a-\u202e\u2066-\u2069]/, "a bidirectional control"],
  [
    /(?![\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff])\p{DI}|\u2800/u,
    "an invisible character",
  ],
];

/** Characters without ink, and those that are ignored where they stand, but for the blank. */
const invisible = /(?! )[\p{C}\p{Z}\p{DI}\u2800]/gu;

/** A blank or an invisible character at the start or the end of a cell. */
const edge = /[\p{Cc}\p{Cf}\p{Z}]/u;

/**
 * Returns such as "found `１００`: full-width digits" or "found `u1 `: a blank at the end", of at
 * most 192 bytes. Invisible characters are shown as <U+00A0>.
 */
export function foundText(cell: string): string {
  const names = namesIn(cell).slice(0, maxNames);
  return `found \`${shownText(cell)}\`${names.length > 0 ? `: ${names.join(", ")}` : ""}`;
}

function shownText(cell: string): string {
  let shown = "";
  for (const character of cutToBytes(cell, maxShownBytes)) {
    const longer = shown + character.replace("`", "'").replace(invisible, codeOf);
    if (Buffer.byteLength(longer) > maxShownBytes) break;
    shown = longer;
  }
  return shown;
}

function namesIn(cell: string): string[] {
  const [start, middle, end] = partsOf(cell);
  return kinds
    .filter(([characters]) => characters.test(cell))
    .map(([characters, name]) => {
      if (middle === "" || characters.test(middle)) return name;
      if (!characters.test(start)) return `${name} at the end`;
      return characters.test(end) ? name : `${name} at the start`;
    });
}

/** Splits a cell at its edges by loops, because a regular expression takes quadratic time. */
function partsOf(cell: string): [start: string, middle: string, end: string] {
  const isEdge = (at: number) => edge.test(cell.charAt(at));
  let [from, to] = [0, cell.length];
  while (from < to && isEdge(from)) from++;
  while (from < to && isEdge(to - 1)) to--;
  return [cell.slice(0, from), cell.slice(from, to), cell.slice(to)];
}

const codeOf = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
