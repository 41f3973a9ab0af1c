/** The slots of a server's streams, which its callers share fairly. */
import { DomainError } from "../words/errors.ts";

/** How many times as many slots as are left free one service may have. */
const shareOfFree = 4;

/**
 * A limited number of slots. Each service has a dynamic threshold, as queues have that share the
 * buffer of a switch: at most four times as many slots as are then left free. So one service alone
 * gets 4/5 of all, and two that want all get 4/9 each. A service that comes later finds free
 * slots, and its share grows as the streams of other services end.
 */
export class StreamSlots {
  readonly #max: number;
  #taken = 0;
  /** How many slots each service has; a service without slots is not in it. */
  readonly #byService = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Takes so many slots for a service, all or none, and returns what gives them back, once. A
   * service without any gets one slot as long as one is free. Throws TOO_MANY_STREAMS.
   */
  take(service: string, count: number): () => void {
    const free = this.#max - this.#taken - count;
    if (free < 0) {
      throw new DomainError(
        "TOO_MANY_STREAMS",
        `this server has too few slots left of ${this.#max} for streams; try another`,
      );
    }
    const ofService = (this.#byService.get(service) ?? 0) + count;
    if (ofService > Math.max(1, shareOfFree * free)) {
      throw new DomainError(
        "TOO_MANY_STREAMS",
        `${service} has its share of the ${this.#max} slots for streams; try another server`,
      );
    }
    this.#add(service, count);
    return () => this.#add(service, -count);
  }

  #add(service: string, count: number): void {
    this.#taken += count;
    const ofService = (this.#byService.get(service) ?? 0) + count;
    if (ofService > 0) this.#byService.set(service, ofService);
    else this.#byService.delete(service);
  }
}
