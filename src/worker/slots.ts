/** How much a worker takes at a time. */

/** A grant holds its slot for seconds before its time, which costs memory only. */
export const maxHeldGrants = 20_000;
