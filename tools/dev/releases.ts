/**
 * The releases. From the first one on, the contract only grows (docs/call/compatibility.md), and
 * `npm run check:breaking` compares it with all of them.
 */

interface Release {
  readonly version: string;
  /** The commit that it was cut from. */
  readonly commit: string;
}

export const releases: readonly Release[] = [];

/**
 * The version over which this one has to be installed without a failed call: the last release, or
 * until there is one, a commit that moves when something is broken on purpose. The upgrade test
 * (test/soak/upgrade.soak.ts) starts it, and test/previous lists its stored items and histories.
 */
export const previousCommit: string =
  releases.at(-1)?.commit ?? "5b295878d06850452c42efa7880f2910b8ef014d";
