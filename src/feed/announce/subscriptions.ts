/** Whose announcements a process wants, and whose it gets on its present connection. */

/** How many owners one command names. */
const batchSize = 500;

/** Owners whose subscriptions change together. */
interface Batch {
  /** All owners, also those without a change. */
  readonly ownerIds: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export class Subscriptions {
  readonly #wanted = new Set<string>();
  readonly #confirmed = new Set<string>();
  /** The owners of whom wanted and confirmed may differ. */
  readonly #changed = new Set<string>();

  get isSettled(): boolean {
    return this.#changed.size === 0;
  }

  add(ownerId: string): void {
    this.#wanted.add(ownerId);
    this.#changed.add(ownerId);
  }

  remove(ownerId: string): void {
    this.#wanted.delete(ownerId);
    this.#changed.add(ownerId);
  }

  /** Begins again, because a new connection has no subscriptions. */
  restart(): void {
    this.#confirmed.clear();
    this.#changed.clear();
    for (const ownerId of this.#wanted) this.#changed.add(ownerId);
  }

  /** Returns the next changes, of the owners who have waited longest. */
  take(): Batch {
    const ownerIds = [...this.#changed].slice(0, batchSize);
    for (const ownerId of ownerIds) this.#changed.delete(ownerId);
    const isWanted = (id: string) => this.#wanted.has(id);
    const isConfirmed = (id: string) => this.#confirmed.has(id);
    return {
      ownerIds,
      added: ownerIds.filter((id) => isWanted(id) && !isConfirmed(id)),
      removed: ownerIds.filter((id) => !isWanted(id) && isConfirmed(id)),
    };
  }

  /** Notes that the server has made these changes. Returns the owners who are subscribed now. */
  confirm({ ownerIds, added, removed }: Batch): readonly string[] {
    for (const id of added) this.#confirmed.add(id);
    for (const id of removed) this.#confirmed.delete(id);
    return ownerIds.filter((id) => this.#wanted.has(id) && this.#confirmed.has(id));
  }
}
