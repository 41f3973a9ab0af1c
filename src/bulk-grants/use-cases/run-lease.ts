/** The lease by which an attempt executes rows: it has just read that the run goes on. */

import { ageOf, type ClockReading, readClocks } from "../../platform/ports/clock-reading.ts";
import { lateWriteMs } from "../../platform/ports/engine.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { BulkGrant } from "../rules/bulk-grant.ts";

/** A row is sent only if its attempt has read the record less than this long before. */
const leaseMs: Milliseconds = 2_000;

/** An attempt reads the record this often while it works, and before each block. */
const renewMs: Milliseconds = 1_250;

/** No attempt writes anything later than this after somebody has read that the run is over. */
export const lateRowsMs: Milliseconds = leaseMs + lateWriteMs;

/** The part of the lease that the decision of a row needs. */
export type Lease = Pick<RunLease, "isHeld" | "decided">;

/**
 * A lease by reading (docs/decisions/0041). Every decision of an attempt asks `isHeld`, so an
 * attempt that Temporal has given up stops, too, as soon as it cannot read the record any more, or
 * reads that the run is over. It costs about one read a second, and nothing for each row.
 */
export class RunLease {
  readonly #read: () => Promise<BulkGrant>;
  readonly #goesOn: (bulkGrant: BulkGrant) => boolean;
  #latest: { readonly bulkGrant: BulkGrant; readonly read: ClockReading } | undefined;
  #isOver = false;
  #reading: Promise<void> | undefined;

  constructor(read: () => Promise<BulkGrant>, goesOn: (bulkGrant: BulkGrant) => boolean) {
    this.#read = read;
    this.#goesOn = goesOn;
  }

  /** Whether a decision may be made now. */
  get isHeld(): boolean {
    return !this.#isOver && this.#latest !== undefined && ageOf(this.#latest.read) < leaseMs;
  }

  /**
   * Returns the record as it was read less than two seconds ago, or undefined when the run is over.
   * Reads it if necessary; throws the errors of that read.
   */
  async hold(): Promise<BulkGrant | undefined> {
    while (!this.#isOver && !this.isHeld) await this.renew();
    return this.#isOver ? undefined : this.#latest?.bulkGrant;
  }

  /** Reads the record, unless that is under way. */
  renew(): Promise<void> {
    this.#reading ??= this.#renew().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /**
   * Returns what `send` has decided under the lease. `send` returns undefined when the lease was
   * not held at its decision, and is then called again. Returns undefined when the run is over.
   */
  async decided<T>(send: () => Promise<T | undefined>): Promise<T | undefined> {
    while (await this.hold()) {
      const result = await send();
      if (result !== undefined) return result;
    }
    return undefined;
  }

  async #renew(): Promise<void> {
    const read = readClocks();
    const bulkGrant = await this.#read();
    this.#latest = { bulkGrant, read };
    this.#isOver ||= !this.#goesOn(bulkGrant);
  }
}

/** Does the work of an attempt; meanwhile its lease is renewed. */
export async function underLease<T>(lease: RunLease, work: () => Promise<T>): Promise<T> {
  // After a read that fails, the work reads the record itself once the lease is not held.
  const timer = setInterval(() => lease.renew().catch(() => undefined), renewMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
