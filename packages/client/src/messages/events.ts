/** The messages, enums and schemas of meguri.events.v1, and events as CloudEvents in JSON. */
export { type CloudEvent, toCloudEvent } from "../../../../src/events/published/cloud-event.ts";
export { Personal, PersonalSchema } from "../../../../src/gen/meguri/access/v1/access_pb.ts";
export * from "../../../../src/gen/meguri/events/v1/event_pb.ts";
export * from "../../../../src/gen/meguri/events/v1/event_service_pb.ts";
