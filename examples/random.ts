/** Makes seeded random numbers (mulberry32), so that examples are the same on every machine. */

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Uniform in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Standard normal (Box–Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  /** Poisson with this mean (Knuth). */
  poisson(mean: number): number {
    let count = 0;
    for (let p = this.next(); p > Math.exp(-mean); p *= this.next()) count += 1;
    return count;
  }
}
