/**
 * The releases. From the first one on, the contract only grows (docs/compatibility.md), and
 * `npm run check:breaking` compares it with all of them.
 */

interface Release {
  readonly version: string;
  /** The commit that it was cut from. */
  readonly commit: string;
}

export const releases: readonly Release[] = [];
