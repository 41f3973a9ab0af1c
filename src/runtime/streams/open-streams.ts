/** The open streams of one kind: their limit, their drain and their end. */
import type { StreamEnd, Streams } from "../../app/ports/streams.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { Stream } from "./stream.ts";

export class OpenStreams<E> implements Streams {
  readonly #maxPlaces: number;
  /** The open streams, and how many places each takes. */
  readonly #streams = new Map<Stream<E>, number>();
  #placesTaken = 0;
  #isDraining = false;

  constructor(maxPlaces: number) {
    this.#maxPlaces = maxPlaces;
  }

  /**
   * Yields the messages of a new stream until it ends or `signal` is aborted. `begin` adds its
   * watches; what it throws ends the stream. Throws TOO_MANY_STREAMS and DRAINING.
   */
  async *open(
    places: number,
    begin: (stream: Stream<E>) => Promise<void>,
    signal: AbortSignal,
  ): AsyncGenerator<E | StreamEnd, void> {
    if (signal.aborted) return;
    const stream = this.#add(places);
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
    for (const stream of this.#streams.keys()) stream.drainAfter(noticeMs * Math.random());
  }

  close(): void {
    this.#isDraining = true;
    for (const stream of this.#streams.keys()) stream.drain();
  }

  #add(places: number): Stream<E> {
    if (this.#isDraining) {
      throw new DomainError("DRAINING", "this server is about to stop; try another");
    }
    if (this.#placesTaken + places > this.#maxPlaces) {
      throw new DomainError(
        "TOO_MANY_STREAMS",
        `this server has too few places left of ${this.#maxPlaces} for streams; try another`,
      );
    }
    const stream = new Stream<E>();
    this.#streams.set(stream, places);
    this.#placesTaken += places;
    return stream;
  }

  /** May be called again for the same stream. */
  #remove(stream: Stream<E>): void {
    const places = this.#streams.get(stream);
    if (places === undefined) return;
    this.#streams.delete(stream);
    this.#placesTaken -= places;
    stream.close();
  }
}
