/** The calls and streams of a process that wait for events: their limits, pages and end. */
import type { StreamCall } from "../../platform/ports/streams.ts";
import { OpenStreams } from "../../platform/streams/open-streams.ts";
import type { Stream, Watch } from "../../platform/streams/stream.ts";
import { StreamSlots } from "../../platform/streams/stream-slots.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { EventPage, EventRead, EventStreams, EventTail } from "../ports/event-reads.ts";
import type { LogPosition } from "../ports/log.ts";

/** After this time without events a stream gets an empty page, so that one comes within 10 s. */
const quietMs = 5_000;

interface EventStreamsDeps {
  readonly eventTail: EventTail;
  /** Where a read begins. */
  readonly begin: (read: EventRead) => Promise<LogPosition>;
  /** The page of a read at a position. */
  readonly readPage: (
    read: EventRead,
    position: LogPosition,
    call: StreamCall,
  ) => Promise<EventPage>;
  /** The most streams that may be open at a time, and the most calls that may wait. */
  readonly maxStreams: number;
}

export function createEventStreams(deps: EventStreamsDeps): EventStreams {
  const { eventTail, maxStreams } = deps;
  const streams = new OpenStreams<EventPage>(maxStreams);
  const slots = new StreamSlots(maxStreams);
  const draining = new AbortController();

  return {
    watch(read, call) {
      return streams.open(call, 1, async (stream) => {
        new LogWatch(deps, stream, read, await deps.begin(read), call.service).open();
      });
    },
    async waitFor(number, ms, { service, signal }) {
      const giveBack = slots.take(service, 1);
      try {
        const ended = AbortSignal.any([signal, draining.signal]);
        return await eventTail.waitFor(number, ms, ended);
      } finally {
        giveBack();
      }
    },
    drain(noticeMs) {
      draining.abort();
      streams.drain(noticeMs);
    },
    close() {
      draining.abort();
      streams.close();
    },
  };
}

/**
 * Reads the log for one stream. It reads a page when the stream asks for it, so that a client that
 * reads slowly costs the memory of one page.
 */
class LogWatch implements Watch<EventPage> {
  readonly #deps: EventStreamsDeps;
  readonly #stream: Stream<EventPage>;
  readonly #read: EventRead;
  readonly #stopped = new AbortController();
  readonly #service: string;
  #next: LogPosition;
  #page: EventPage | undefined;

  constructor(
    deps: EventStreamsDeps,
    stream: Stream<EventPage>,
    read: EventRead,
    begin: LogPosition,
    service: string,
  ) {
    this.#deps = deps;
    this.#stream = stream;
    this.#read = read;
    this.#next = begin;
    this.#service = service;
  }

  /** Reads the first page at once, which says where the stream has begun, also without events. */
  open(): void {
    this.#stream.add(this);
    void this.#readOn(0);
  }

  take(): EventPage | undefined {
    const page = this.#page;
    this.#page = undefined;
    // The stream asks again when its client has taken this page: then the next one is read.
    if (page) this.#stream.notify(this);
    else void this.#readOn(quietMs);
    return page;
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Offers the next page with events, or an empty one after so long. */
  async #readOn(maxQuietMs: Milliseconds): Promise<void> {
    const quietUntil = performance.now() + maxQuietMs;
    try {
      this.#page = await this.#nextPage(quietUntil);
      this.#stream.notify(this);
    } catch (error) {
      this.#stream.fail(error);
    }
  }

  async #nextPage(quietUntil: number): Promise<EventPage> {
    const { eventTail, readPage } = this.#deps;
    const { signal } = this.#stopped;
    for (;;) {
      const page = await readPage(this.#read, this.#next, { service: this.#service, signal });
      this.#next = page.next;
      const leftMs = quietUntil - performance.now();
      if (page.events.length > 0 || leftMs <= 0 || signal.aborted) return page;
      if (page.isAtEnd && !(await eventTail.waitFor(page.next.number, leftMs, signal))) return page;
    }
  }
}
