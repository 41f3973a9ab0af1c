/** One open stream: sends the latest state of all that it watches, until it ends. */
import type { StreamEnd } from "../ports/streams.ts";
import type { Milliseconds } from "../words/units.ts";
import { withJitter } from "../work/jitter.ts";

/**
 * A stream ends after about 30 minutes, so that streams spread over new servers, too; with a
 * jitter, so that streams that began together end apart.
 */
const limitMs = 30 * 60_000;
const limitJitter = 0.1;

/**
 * The delays after which a client opens the stream again, from the shortest to the longest: random
 * within them, so that streams that end together open apart.
 */
type ReopenDelays = readonly [shortestMs: Milliseconds, longestMs: Milliseconds];

const afterTimeLimit: ReopenDelays = [100, 1_000];

/** One thing that a stream watches. */
export interface Watch<E> {
  /** Returns the message to send now; undefined when the client has the latest state. */
  take(): E | undefined;
  /** Called once, when the stream is closed. */
  stop(): void;
}

/**
 * A stream of messages `E`. It keeps no messages: a client that reads slowly gets the latest state
 * of each watch and skips older ones.
 */
export class Stream<E> {
  readonly #watches: Watch<E>[] = [];
  /** The watches whose state may have changed since the last message about them. */
  readonly #pending = new Set<Watch<E>>();
  #timer = setTimeout(
    () => this.#end("TIME_LIMIT", afterTimeLimit),
    withJitter(limitMs, limitJitter),
  );
  #notified = Promise.withResolvers<void>();
  /** Set when the stream has to end. Returns its last message, if any, or throws. */
  #last: (() => E | StreamEnd | undefined) | undefined;

  add(watch: Watch<E>): void {
    this.#watches.push(watch);
  }

  /** Has to be called when the state of a watch is known and when it has changed. */
  notify(watch: Watch<E>): void {
    this.#pending.add(watch);
    this.#notified.resolve();
  }

  /** Ends the stream after this time, instead of at its limit. */
  drainAfter(ms: Milliseconds, delays: ReopenDelays): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.drain(delays), ms);
  }

  drain(delays: ReopenDelays): void {
    this.#end("DRAINING", delays);
  }

  /** Ends the stream with this message. */
  finish(last: E): void {
    this.#endWith(() => last);
  }

  fail(error: unknown): void {
    this.#endWith(() => {
      throw error;
    });
  }

  /** Ends the stream without a last message. */
  close(): void {
    this.#endWith(() => undefined);
    for (const watch of this.#watches) watch.stop();
  }

  async *messages(): AsyncGenerator<E | StreamEnd, void> {
    for (;;) {
      if (this.#last) {
        const last = this.#last();
        if (last) yield last;
        return;
      }
      const [watch] = this.#pending;
      if (watch) {
        // A watch that changes again queues behind the other watches, so that none waits long.
        this.#pending.delete(watch);
        const message = watch.take();
        if (message) yield message;
      } else {
        this.#notified = Promise.withResolvers();
        await this.#notified.promise;
      }
    }
  }

  #end(end: StreamEnd["end"], [shortestMs, longestMs]: ReopenDelays): void {
    const reopenDelayMs = Math.round(shortestMs + (longestMs - shortestMs) * Math.random());
    this.#endWith(() => ({ end, reopenDelayMs }));
  }

  #endWith(last: () => E | StreamEnd | undefined): void {
    clearTimeout(this.#timer);
    this.#last ??= last;
    this.#notified.resolve();
  }
}
