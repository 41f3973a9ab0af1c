/** Writes numbers of things for people: "1 row", "1,500 rows". */

/** The word for so many things. */
export const nounFor = (count: number, thing: string, things = `${thing}s`): string =>
  count === 1 ? thing : things;

export const counted = (count: number, thing: string, things?: string): string =>
  `${count.toLocaleString("en")} ${nounFor(count, thing, things)}`;
