/** The handlers of the EventService. */
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Personal } from "../../gen/meguri/access/v1/access_pb.ts";
import {
  WatchEventsResponse_End_Cause as Cause,
  type EventService,
} from "../../gen/meguri/events/v1/event_service_pb.ts";
import { callOf, streamCallOf } from "../../platform/edge/context.ts";
import type { Deps } from "../ports/deps.ts";
import type { EventPage } from "../ports/event-reads.ts";
import { withoutPersonal } from "../published/personal.ts";
import { maxPageBytes, readEvents } from "../use-cases/read-events.ts";
import { toCursor } from "./cursors.ts";
import { toRead } from "./reads.ts";

const defaultPageSize = 100;
const maxPageSize = 1_000;

/** The part of a call's time in which it may wait. */
const waitingShare = 0.8;

export const eventService = (
  deps: Pick<Deps, "eventLog" | "eventTail" | "eventStreams" | "clock">,
): ServiceImpl<typeof EventService> => ({
  async readEvents(request, context) {
    const { maxWait, pageSize, include } = request;
    const waitMs = maxWait ? durationMs(maxWait) : 0;
    const read = {
      ...toRead(request, context),
      limits: { events: Math.min(pageSize || defaultPageSize, maxPageSize), bytes: maxPageBytes },
      waitUntil: waitUntil(waitMs, callOf(context).deadline),
    };
    const page = await readEvents(deps, read, streamCallOf(context));
    return { ...fromPage(page, include), atEnd: page.isAtEnd };
  },

  async *watchEvents(request, context) {
    const pages = deps.eventStreams.watch(toRead(request, context), streamCallOf(context));
    for await (const page of pages) {
      if ("end" in page) {
        const reopenDelay = durationFromMs(page.reopenDelayMs);
        yield { end: { cause: causes[page.end], reopenDelay } };
      } else {
        yield fromPage(page, request.include);
      }
    }
  },
});

/** Leaves time for the answer before the deadline. */
function waitUntil(waitMs: number, deadline: number | undefined): number {
  const now = performance.now();
  return now + Math.min(waitMs, ((deadline ?? Infinity) - now) * waitingShare);
}

const causes = { TIME_LIMIT: Cause.TIME_LIMIT, DRAINING: Cause.DRAINING } as const;

const fromPage = ({ events, next }: EventPage, include: readonly Personal[]) => ({
  events: events.map((event) => withoutPersonal(event, include)),
  cursor: toCursor(next),
});
