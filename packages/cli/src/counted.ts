/** Writes numbers of things: "1 row", "1500 rows". */

/** The word for so many things. */
export const nounFor = (count: number | bigint, thing: string, things = `${thing}s`): string =>
  BigInt(count) === 1n ? thing : things;

export const counted = (count: number | bigint, thing: string, things?: string): string =>
  `${count} ${nounFor(count, thing, things)}`;
