/** The events as they are published: the messages of the contract. */
export type { Event } from "../../gen/meguri/events/v1/event_pb.ts";
