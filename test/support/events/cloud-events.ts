/** Reads events as subscriptions get them: in the JSON Event Format of CloudEvents 1.0. */
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Event, EventSchema } from "../../../src/gen/meguri/events/v1/event_pb.ts";

/** The fields of the data by the beginnings of the types. */
const fields: readonly (readonly [prefix: string, field: string])[] = [
  ["points.balance_crossed", "balanceCrossed"],
  ["points.", "entryRecorded"],
  ["reservation.", "reservationChanged"],
  ["hold.", "holdChanged"],
  ["bulk_grant.", "bulkGrantChanged"],
  ["target.", "targetChanged"],
  ["notification.", "notificationChanged"],
  ["program.", "programChanged"],
  ["events.gap_found", "gapFound"],
  ["events.gap_closed", "gapClosed"],
  ["events.change_unreadable", "changeUnreadable"],
];

/** The attributes that an event has under the same name. */
const attributes = ["id", "type", "source", "subject", "time", "traceparent", "cause"] as const;

/** The event of a structured CloudEvent. Throws when it is none, or has anything unknown. */
export function fromCloudEvent(body: string): Event {
  const cloudEvent = JSON.parse(body) as JsonObject;
  const { specversion, datacontenttype, program = "", data, ...rest } = cloudEvent;
  if (specversion !== "1.0" || datacontenttype !== "application/json" || data === undefined) {
    throw new Error(`this is no event: ${body}`);
  }
  const unknown = Object.keys(rest).filter((name) => !attributes.includes(name as never));
  if (unknown.length > 0) throw new Error(`the event has the unknown attributes ${unknown}`);
  const [, field] = fields.find(([prefix]) => String(rest.type).startsWith(prefix)) ?? [];
  if (!field) throw new Error(`the event has the unknown type ${rest.type}`);
  const json: JsonValue = { ...rest, programId: program, [field]: data };
  return fromJson(EventSchema, json, { ignoreUnknownFields: false });
}
