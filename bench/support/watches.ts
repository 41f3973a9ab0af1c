/** What the benchmarks of thousands of unread count streams have in common. */

/** A service alone may have four fifths of a server's places: 10,000 of these. */
export const places = 12_500;

/** Owners that no other benchmark has; all names have one length. */
export const ownerIds = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `owner-${String(from + i).padStart(7, "0")}`);
