/** Builds what reads the log of events for the calls and streams of a process. */
import type { Logger } from "../../platform/observe/log.ts";
import type { Deps } from "../ports/deps.ts";
import { beginRead, readPage } from "../use-cases/read-events.ts";
import { createEventStreams } from "./event-streams.ts";
import { createEventTail } from "./event-tail.ts";
import { createReadingNotes } from "./log-readings.ts";

/**
 * What one message of a stream has at most: a client that does not read costs the memory of two,
 * and a process has thousands of streams.
 */
const streamed = { events: 100, bytes: 32 * 1_024 };

interface EventReadsDeps extends Pick<Deps, "eventLog" | "clock"> {
  readonly log: Logger;
  /** The most streams that may be open at a time, and the most calls that may wait. */
  readonly maxStreams: number;
}

/** The end of the log, and what waits there. They read nothing by themselves. */
export function createEventReads({
  eventLog,
  clock,
  log,
  maxStreams,
}: EventReadsDeps): Pick<Deps, "eventTail" | "eventStreams"> {
  const eventTail = createEventTail({ eventLog, note: createReadingNotes(log) });
  const deps = { eventLog, eventTail, clock };
  const eventStreams = createEventStreams({
    ...{ eventTail, maxStreams },
    begin: (read) => beginRead(deps, read),
    readPage: (read, position, call) => readPage(deps, read, position, streamed, call),
  });
  return { eventTail, eventStreams };
}
