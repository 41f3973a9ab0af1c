/** Turns requests for events into reads of the log, within the limits of their callers. */
import type { HandlerContext } from "@connectrpc/connect";
import type {
  ReadEventsRequest,
  WatchEventsRequest,
} from "../../gen/meguri/events/v1/event_service_pb.ts";
import { mayReadEventType } from "../../platform/edge/authorize.ts";
import { identityOf } from "../../platform/edge/context.ts";
import { invalid } from "../../platform/messages/invalid-request.ts";
import { toOptionalInstant } from "../../platform/messages/scalars.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { EventRead } from "../ports/event-reads.ts";
import { type EventFilter, isWanted } from "../published/filter.ts";
import { nearestType } from "../use-cases/event-types.ts";
import { fromCursor } from "./cursors.ts";

/**
 * Reads where a request begins and which events it is for. The limits of its caller are those of
 * the moment at which an event is read: those of an open stream may change.
 */
export function toRead(
  request: ReadEventsRequest | WatchEventsRequest,
  context: HandlerContext,
): EventRead {
  const { cursor, startTime } = request;
  if (cursor !== "" && startTime) throw invalid("start_time", "is for reads without a cursor");
  const filter = toFilter(request);
  if (identityOf(context.values).eventTypes?.length === 0) {
    throw new DomainError("PERMISSION_DENIED", "the caller may read no type of events", {
      field: "types",
    });
  }
  return {
    position: cursor === "" ? undefined : fromCursor(cursor),
    startTime: toOptionalInstant(startTime, "start_time"),
    isWanted: (event) =>
      isWanted(event, filter) && mayReadEventType(identityOf(context.values), event.type),
  };
}

function toFilter(request: ReadEventsRequest | WatchEventsRequest): EventFilter {
  const { programId, allPrograms, types } = request;
  if (allPrograms && programId !== "") {
    throw invalid("all_programs", "is for reads without a program_id");
  }
  for (const [i, type] of types.entries()) {
    const nearest = nearestType(type);
    if (nearest === undefined) continue;
    throw invalid(`types[${i}]`, `is no type of events; the nearest one is ${nearest}`);
  }
  return {
    types,
    programIds: allPrograms ? undefined : [toProgramId(programId)],
  };
}
