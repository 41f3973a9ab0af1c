/** Writes numbers of things for people: "1 row", "1,500 rows", "a; b; and 69 more". */

/** The word for so many things. */
export const nounFor = (count: number, thing: string, things = `${thing}s`): string =>
  count === 1 ? thing : things;

export const quantity = (count: number, thing: string, things?: string): string =>
  `${count.toLocaleString("en")} ${nounFor(count, thing, things)}`;

/** Joins texts; of many the first ten. */
export function listed(texts: readonly string[]): string {
  const shown = texts.slice(0, mostListed);
  const rest = texts.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}

/** More of them would not be read, and exceed the size of metadata that clients accept. */
export const mostListed = 10;

/** A report names at most this many records that differ, and as many that failed. */
export const maxReports = 100;
