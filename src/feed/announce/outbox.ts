/** The announcements that wait to be sent: one for each owner, and not more than a limit. */

/** How many owners may wait, for instance while the server is away: about 2 MB. */
const maxWaiting = 10_000;

/** How many announcements are sent at once. The next ones wait until the server has them. */
const batchSize = 500;

export class Outbox {
  readonly #versions = new Map<string, number>();

  get isEmpty(): boolean {
    return this.#versions.size === 0;
  }

  /** Keeps the newest version of the owner. Drops it if too many other owners wait. */
  add(ownerId: string, version: number): void {
    const waiting = this.#versions.get(ownerId);
    if (waiting === undefined && this.#versions.size >= maxWaiting) return;
    this.#versions.set(ownerId, Math.max(version, waiting ?? 0));
  }

  /** Removes and returns owners with their versions, those who have waited longest. */
  take(): readonly (readonly [ownerId: string, version: number])[] {
    const batch = [...this.#versions].slice(0, batchSize);
    for (const [ownerId] of batch) this.#versions.delete(ownerId);
    return batch;
  }
}
