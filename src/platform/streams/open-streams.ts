/** The open streams of one kind: their limit, their drain and their end. */
import type { StreamCall, StreamEnd, Streams } from "../ports/streams.ts";
import { DomainError } from "../words/errors.ts";
import type { Milliseconds } from "../words/units.ts";
import { Stream } from "./stream.ts";
import { StreamSlots } from "./stream-slots.ts";

/** In this time load balancers leave a draining server out. */
const leftOutMs = 1_000;

/**
 * How long the streams of a draining server take to come to other servers: at least so long, and
 * long enough that one other server opens no more than so many a second.
 */
const leastReturnMs = 4_000;
const returnsPerSecond = 500;

export class OpenStreams<E> implements Streams {
  readonly #slots: StreamSlots;
  /** The open streams, and what gives the slots of each back. */
  readonly #streams = new Map<Stream<E>, () => void>();
  #isDraining = false;

  constructor(maxSlots: number) {
    this.#slots = new StreamSlots(maxSlots);
  }

  /**
   * Yields the messages of a new stream, which takes so many slots of its service, until it ends
   * or the signal of the call is aborted. `begin` adds its watches; what it throws ends the stream.
   * Throws TOO_MANY_STREAMS and DRAINING.
   */
  async *open(
    { service, signal }: StreamCall,
    slots: number,
    begin: (stream: Stream<E>) => Promise<void>,
  ): AsyncGenerator<E | StreamEnd, void> {
    if (signal.aborted) return;
    const stream = this.#add(service, slots);
    // Closes the stream even while its consumer is blocked in a write and does not return here.
    const close = () => this.#remove(stream);
    signal.addEventListener("abort", close, { once: true });
    begin(stream).catch((error: unknown) => stream.fail(error));
    try {
      yield* stream.messages();
    } finally {
      signal.removeEventListener("abort", close);
      close();
    }
  }

  drain(noticeMs: Milliseconds): void {
    this.#isDraining = true;
    const delays = this.#returnDelays();
    for (const stream of this.#streams.keys()) stream.drainAfter(noticeMs * Math.random(), delays);
  }

  close(): void {
    this.#isDraining = true;
    const delays = this.#returnDelays();
    for (const stream of this.#streams.keys()) stream.drain(delays);
  }

  #returnDelays(): readonly [Milliseconds, Milliseconds] {
    const returnMs = (1_000 * this.#streams.size) / returnsPerSecond;
    return [leftOutMs, leftOutMs + Math.max(leastReturnMs, returnMs)];
  }

  #add(service: string, slots: number): Stream<E> {
    if (this.#isDraining) {
      throw new DomainError("DRAINING", "this server is about to stop; try another");
    }
    const giveBack = this.#slots.take(service, slots);
    const stream = new Stream<E>();
    this.#streams.set(stream, giveBack);
    return stream;
  }

  /** May be called again for the same stream. */
  #remove(stream: Stream<E>): void {
    const giveBack = this.#streams.get(stream);
    if (!giveBack) return;
    this.#streams.delete(stream);
    giveBack();
    stream.close();
  }
}
