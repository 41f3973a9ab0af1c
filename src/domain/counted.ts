/** Writes numbers of things for people: "1 row", "1,500 rows". */

export const counted = (count: number, thing: string, things = `${thing}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? thing : things}`;
