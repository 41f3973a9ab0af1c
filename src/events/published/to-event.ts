/** Maps events of the rules to messages. */
import { create } from "@bufbuild/protobuf";
import { type Event, EventSchema } from "../../gen/meguri/events/v1/event_pb.ts";
import { fromInstant } from "../../platform/messages/scalars.ts";
import type { ChangeEvent } from "../rules/change-event.ts";
import { fromData } from "./event-data.ts";

/**
 * The source of the events of a log. Restored tables have another log, because their ledgers give
 * numbers again that the old log has used: an id is unique in its source.
 */
export const sourceOf = (installation: string, logId: string): string =>
  `/meguri/${installation}/${logId}`;

export function toEvent({ time, data, ...attributes }: ChangeEvent, source: string): Event {
  const { id, type, subject } = attributes;
  const { programId = "", traceparent = "", cause = "" } = attributes;
  return create(EventSchema, {
    ...{ id, type, source, subject, programId, traceparent, cause },
    time: fromInstant(time),
    data: fromData(data),
  });
}
