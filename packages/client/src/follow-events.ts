/** Follows the events of everything that changes, by calls that wait for the next ones. */
import type { Client } from "@connectrpc/connect";
import type { Event } from "../../../src/gen/meguri/events/v1/event_pb.ts";
import type {
  EventService,
  ReadEventsRequestSchema,
} from "../../../src/gen/meguri/events/v1/event_service_pb.ts";
import { reopen, type StreamEvent, type WatchOptions } from "./reopen.ts";
import type { RequestOf } from "./requests.ts";

type Request = RequestOf<typeof ReadEventsRequestSchema>;

/** Which events are followed, from where on, and where the cursor is kept. */
export interface FollowedEvents
  extends Pick<Request, "programId" | "allPrograms" | "types" | "include"> {
  /** The last cursor that was saved. Empty or absent: begins at `startTime`. */
  readonly cursor?: string | undefined;
  /** Without a cursor, begins with the events since then; absent: with those from now on. */
  readonly startTime?: Request["startTime"];
  /**
   * Keeps the cursor. It is called, and awaited, when the loop has asked for the event behind the
   * last one of an answer, so that all before are done; and when an answer has had no event.
   */
  readonly save?: ((cursor: string) => Promise<void> | void) | undefined;
}

/** How many events an answer has at most: as many may come again when the loop is broken off. */
const pageSize = 200;

/** How long a call waits for the first event. */
const maxWait = { seconds: 20n };

/** Yields each event once, unless the loop is broken off and another one begins. */
export async function* followEvents(
  events: Client<typeof EventService>,
  { cursor: saved = "", startTime, save, ...asked }: FollowedEvents,
  options: WatchOptions,
): AsyncGenerator<Event, void> {
  let cursor = saved;

  /** Calls again and again. The first call does not wait, so that there is a cursor at once. */
  async function* pages(signal: AbortSignal): AsyncGenerator<StreamEvent<Page>> {
    for (let isFirst = true; ; isFirst = false) {
      const begin = cursor === "" ? startTime && { startTime } : { cursor };
      const request = { ...asked, ...begin, ...(!isFirst && { maxWait }), pageSize };
      yield { value: await events.readEvents(request, { signal }) };
    }
  }

  for await (const page of reopen(options, pages)) {
    yield* page.events;
    if (page.cursor === cursor) continue;
    cursor = page.cursor;
    await save?.(cursor);
  }
}

interface Page {
  readonly events: readonly Event[];
  readonly cursor: string;
}
