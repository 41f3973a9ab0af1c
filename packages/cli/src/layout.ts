/** Lays texts out within the width of a terminal, where some characters are two columns wide. */
import stringWidth from "string-width";

// Clusters are what a terminal shows in one place, such as an emoji of several characters.
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

const clustersOf = (text: string): string[] =>
  [...segmenter.segment(text)].map(({ segment }) => segment);

/** Breaks a text between words, and a word that is wider than a line within itself. */
export function wrapped(text: string, width: number): string[] {
  const lines = [""];
  const last = () => lines.at(-1) ?? "";
  const append = (part: string) => lines.push(`${lines.pop()}${part}`);
  const fits = (part: string) => stringWidth(last() + part.trimEnd()) <= width;
  for (const word of text.split(/(?<= )/)) {
    if (fits(word)) append(word);
    else if (stringWidth(word.trimEnd()) <= width) lines.push(word);
    else for (const part of clustersOf(word)) fits(part) ? append(part) : lines.push(part);
  }
  return lines.map((line) => line.trimEnd());
}

/** Cuts a text to a width, with a mark where something is missing. */
export function cutToWidth(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let start = "";
  for (const cluster of clustersOf(text)) {
    if (stringWidth(`${start}${cluster}…`) > width) break;
    start += cluster;
  }
  return `${start}…`;
}

/** The width of a name in a question. A longer one stands whole above it. */
export const maxNameWidth = 40;

/** A name, and what is said of it. */
export type NamedText = readonly [name: string, text: string];

/** A terminal that is narrower has texts that it breaks itself. */
const minTextWidth = 20;

/** The lines of each pair: the name, and beside it the text in as many lines as it needs. */
export function pairLines(pairs: readonly NamedText[], width: number): string[][] {
  const indent = Math.max(0, ...pairs.map(([name]) => stringWidth(name))) + 2;
  return pairs.map(([name, text]) =>
    wrapped(text, Math.max(width - indent, minTextWidth)).map((line, i) => {
      const start = i === 0 ? name : "";
      return `${start}${" ".repeat(indent - stringWidth(start))}${line}`;
    }),
  );
}
