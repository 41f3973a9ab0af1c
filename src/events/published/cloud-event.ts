/** Events in the JSON Event Format of CloudEvents 1.0. */
import { type DescMessage, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Event, EventSchema } from "../../gen/meguri/events/v1/event_pb.ts";

/** An event as JSON. An attribute of CloudEvents is never empty, so an empty one is left out. */
export interface CloudEvent {
  readonly specversion: "1.0";
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: "application/json";
  readonly program?: string;
  readonly traceparent?: string;
  readonly cause?: string;
  readonly data: JsonValue;
}

/** The messages of the data by the names of their fields. */
const schemas = new Map<string | undefined, DescMessage>(
  EventSchema.oneofs
    .flatMap(({ fields }) => fields)
    .flatMap(({ localName, message }) => (message ? [[localName, message]] : [])),
);

export function toCloudEvent(event: Event): CloudEvent {
  const { id, source, type, subject, time, programId, traceparent, cause, data } = event;
  const schema = schemas.get(data.case);
  if (!time || !schema) throw new Error(`the event ${id} has no time or no data`);
  return {
    specversion: "1.0",
    ...{ id, source, type, subject },
    time: timestampDate(time).toISOString(),
    datacontenttype: "application/json",
    ...(programId && { program: programId }),
    ...(traceparent && { traceparent }),
    ...(cause && { cause }),
    // With the fields that are 0 or empty, as in the lines of exports.
    data: toJson(schema, data.value as Message, { alwaysEmitImplicit: true }),
  };
}
