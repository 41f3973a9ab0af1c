/** Reads the log of events page by page, within bounds of work and memory. */
import type { StreamCall } from "../../platform/ports/streams.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Deps } from "../ports/deps.ts";
import type { EventPage, EventRead } from "../ports/event-reads.ts";
import { keptMs, type LogBatch, type LogPosition, type LogTail } from "../ports/log.ts";
import { encodedSize } from "../published/encoding.ts";
import type { Event } from "../published/event.ts";

/** What a page holds at most. The sizes are those of the events as they are kept. */
interface PageLimits {
  readonly events: number;
  readonly bytes: number;
}

export const maxPageBytes = 2 ** 20;

/** What one page reads at most, however few of the events are wanted. */
const maxReads = 20;
const maxExamined = 5_000;

/**
 * A read by time begins so long after the oldest event that is kept, so that the reader has left
 * the events that expire before they do.
 */
const leadMs = 3_600_000;

type ReadDeps = Pick<Deps, "eventLog" | "eventTail" | "clock">;

/** Where a read begins: at its position, or at the first event that was appended at its time. */
export async function beginRead(
  { eventLog, eventTail, clock }: ReadDeps,
  { position, startTime }: EventRead,
): Promise<LogPosition> {
  if (position) return position;
  const end = await eventTail.end();
  if (!end) return { logId: "", number: 1, index: 0 };
  if (startTime === undefined) return { logId: end.logId, number: end.number + 1, index: 0 };
  const { wall } = await clock.now();
  const time = Math.max(startTime, wall - keptMs + leadMs) as Instant;
  return { logId: end.logId, number: await eventLog.find(time), index: 0 };
}

/**
 * Reads a page of wanted events. It may be short or empty while more follow, and ends when its
 * caller has left. Refusal: CURSOR_EXPIRED when an event at or behind the position is not kept any
 * more, or the log has no such position.
 */
export async function readPage(
  deps: Pick<ReadDeps, "eventTail" | "clock">,
  { isWanted }: Pick<EventRead, "isWanted">,
  position: LogPosition,
  limits: PageLimits,
  { service, signal }: StreamCall,
): Promise<EventPage> {
  const { eventTail, clock } = deps;
  const { wall } = await clock.now();
  const end = await eventTail.end();
  if (!end && position.logId === "") return { events: [], next: position, isAtEnd: true };
  if (!end || !isOf(end, position)) throw expired(wall);
  const page = new Page(limits, isWanted, { ...position, logId: end.logId });
  for (let reads = 0; ; reads += 1) {
    const isAtEnd = page.next.number > end.number;
    if (isAtEnd || page.isFull || reads === maxReads || signal.aborted) {
      return { events: page.events, next: page.next, isAtEnd };
    }
    const batches = await eventTail.read(page.next.number, service);
    const [first] = batches;
    const isKept = first !== undefined && (reads > 0 || first.time >= wall - keptMs);
    if (!isKept || page.next.index > first.events.length) throw expired(wall);
    for (const batch of batches) page.take(batch);
  }
}

/** Whether a log has a position, or will have it next. */
const isOf = (end: LogTail, { logId, number, index }: LogPosition): boolean =>
  (logId === "" || logId === end.logId) &&
  (number <= end.number || (number === end.number + 1 && index === 0));

function expired(wall: Instant): DomainError {
  const oldest = new Date(wall - keptMs + leadMs).toISOString();
  return new DomainError(
    "CURSOR_EXPIRED",
    `the events behind the cursor are not kept; read on with start_time, ${oldest} or later, ` +
      "and read what was missed with ListLedgerEntries or an export",
    { oldest_time: oldest },
  );
}

/** The page that is being read. */
class Page {
  readonly events: Event[] = [];
  next: LogPosition;
  readonly #limits: PageLimits;
  readonly #isWanted: (event: Event) => boolean;
  #bytes = 0;
  #examined = 0;

  constructor(limits: PageLimits, isWanted: (event: Event) => boolean, begin: LogPosition) {
    this.#limits = limits;
    this.#isWanted = isWanted;
    this.next = begin;
  }

  get isFull(): boolean {
    const { events, bytes } = this.#limits;
    return this.events.length >= events || this.#bytes >= bytes || this.#examined >= maxExamined;
  }

  /** Takes the events of a batch until the page is full. */
  take({ number, events }: LogBatch): void {
    let { index } = this.next;
    if (this.isFull || number !== this.next.number) return;
    for (; index < events.length && !this.isFull; index += 1) {
      const event = events[index] as Event;
      this.#examined += 1;
      if (!this.#isWanted(event)) continue;
      this.events.push(event);
      this.#bytes += encodedSize(event);
    }
    const isDone = index === events.length;
    this.next = { ...this.next, number: isDone ? number + 1 : number, index: isDone ? 0 : index };
  }
}

/** A call that may wait for the first event. */
interface WaitingRead extends EventRead {
  readonly limits: PageLimits;
  /** Until when it may wait, in `performance.now()` milliseconds. */
  readonly waitUntil: number;
}

/**
 * Reads a page, and waits for its first event if there is none. Answers an empty page when the time
 * is over or the server drains. Also throws TOO_MANY_STREAMS.
 */
export async function readEvents(
  deps: ReadDeps & Pick<Deps, "eventStreams">,
  read: WaitingRead,
  call: StreamCall,
): Promise<EventPage> {
  let position = await beginRead(deps, read);
  for (;;) {
    const page = await readPage(deps, read, position, read.limits, call);
    const leftMs = read.waitUntil - performance.now();
    if (page.events.length > 0 || !page.isAtEnd || leftMs <= 0) return page;
    position = page.next;
    if (!(await deps.eventStreams.waitFor(position.number, leftMs, call))) return page;
  }
}
