/** The records of the store, and the names by which use cases and store refer to them. */
import type { Instant } from "../words/month.ts";
import type { LeaseHolder } from "./lease.ts";

/** The records by kind. Each feature declares its own. Every kind has its own form of key. */
export interface Records {
  testClock: TestTime;
  lease: LeaseHolder;
  installation: Installation;
}

/** The time of the test clock, which changes only when a caller sets it. */
interface TestTime {
  readonly time: Instant;
}

/** The id that the setup has given to the tables. Restored tables have it, too. */
interface Installation {
  readonly id: string;
}

export type Kind = keyof Records;

/** Names one record by its kind and the parts of its key, joined by `#`, which no part contains. */
export interface Ref<K extends Kind = Kind> {
  readonly kind: K;
  readonly id: string;
}

/** Names the record of a kind by the parts of its key. */
export const ref = <K extends Kind>(kind: K, ...parts: readonly (string | number)[]): Ref<K> => ({
  kind,
  id: parts.join("#"),
});

export const testClockRef: Ref<"testClock"> = ref("testClock");
export const installationRef: Ref<"installation"> = ref("installation");
export const leaseRef = (name: string): Ref<"lease"> => ref("lease", name);

/** Reads of single records by their names. */
export interface RecordReader {
  get<K extends Kind>(ref: Ref<K>): Promise<{ value: Records[K]; version: number } | undefined>;
  /** The records in the order requested; undefined for each that does not exist. */
  many<K extends Kind>(refs: readonly Ref<K>[]): Promise<(Records[K] | undefined)[]>;
}
