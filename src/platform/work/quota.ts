/** Counts what is held of something scarce: by each holder, and in all. */

/** How much may be held at a time. */
interface QuotaLimits {
  readonly perHolder: number;
  /** Absent: what the holders may have together. */
  readonly total?: number;
}

export class Quota<H> {
  readonly #limits: QuotaLimits;
  readonly #held = new Map<H, number>();
  #total = 0;

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** Whether the holder got so much more. Takes nothing above a limit. */
  take(holder: H, amount = 1): boolean {
    const { perHolder, total = Number.POSITIVE_INFINITY } = this.#limits;
    const own = (this.#held.get(holder) ?? 0) + amount;
    if (own > perHolder || this.#total + amount > total) return false;
    this.#held.set(holder, own);
    this.#total += amount;
    return true;
  }

  /** Gives back what was taken. */
  release(holder: H, amount = 1): void {
    const own = (this.#held.get(holder) ?? 0) - amount;
    if (own > 0) this.#held.set(holder, own);
    else this.#held.delete(holder);
    this.#total -= amount;
  }
}
