/** How the log keeps events: as messages of the contract, one behind another, compressed. */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { type Event, EventSchema } from "../../gen/meguri/events/v1/event_pb.ts";

const sizes = new WeakMap<Event, number>();

export function encodeEvents(events: readonly Event[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const event of events) writer.bytes(toBinary(EventSchema, event));
  return deflateRawSync(writer.finish());
}

export function decodeEvents(bytes: Uint8Array): Event[] {
  const reader = new BinaryReader(inflateRawSync(bytes));
  const events: Event[] = [];
  while (reader.pos < reader.len) {
    const encoded = reader.bytes();
    const event = fromBinary(EventSchema, encoded);
    sizes.set(event, encoded.length);
    events.push(event);
  }
  return events;
}

/** The bytes of an event in the log before they are compressed, which are counted once. */
export function encodedSize(event: Event): number {
  const size = sizes.get(event) ?? toBinary(EventSchema, event).length;
  sizes.set(event, size);
  return size;
}
