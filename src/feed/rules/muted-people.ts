/** What an inbox knows of the people whom its owner has muted: their number and their hashes. */

/** A filter that says who may be muted: each muted person has a record, which decides. */
export interface MutedPeople {
  /** At most `maxMutedPeople`. */
  readonly count: number;
  /** A bit for each hash that at least one of the muted people has. */
  readonly hashes: bigint;
}

export const nobodyMuted: MutedPeople = { count: 0, hashes: 0n };

/** How many people an owner can mute. */
export const maxMutedPeople = 10_000;

/** A hash of a person is a number below this one, so that the bits of all take 256 bytes. */
export const personHashes = 2_048;

/** Whether at least one of the muted people has this hash. */
export const hasHash = ({ hashes }: MutedPeople, hash: number): boolean =>
  ((hashes >> BigInt(hash)) & 1n) === 1n;

/** Adds or removes a person with this hash. `isShared` says whether other muted people have it. */
export function changePerson(
  { count, hashes }: MutedPeople,
  { hash, isShared, muted }: { hash: number; isShared: boolean; muted: boolean },
): MutedPeople {
  const bit = 1n << BigInt(hash);
  return {
    count: count + (muted ? 1 : -1),
    hashes: muted || isShared ? hashes | bit : hashes & ~bit,
  };
}
