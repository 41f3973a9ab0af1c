/** The ids and subjects of events. They follow from the stored record alone. */

/** What another meaning, another character, or no header could have in an id. */
const unsafe = /[^!-$&-.0-~]/gu;

/** Joins parts to a path. What a part itself has of `/` and `%`, or outside ASCII, is encoded. */
export const path = (...parts: readonly (string | number)[]): string =>
  parts.map((part) => String(part).replace(unsafe, encodeURIComponent)).join("/");
