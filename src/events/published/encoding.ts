/** How the log keeps events: as messages of the contract, one behind another, compressed. */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { type Event, EventSchema } from "../../gen/meguri/events/v1/event_pb.ts";

/** The sizes of the events that were read, whose bytes are not kept. */
const sizes = new WeakMap<Event, number>();

/** The bytes of the events that are written: they are asked for their size, then appended. */
const encodings = new WeakMap<Event, Uint8Array>();

function encoded(event: Event): Uint8Array {
  const bytes = encodings.get(event) ?? toBinary(EventSchema, event);
  encodings.set(event, bytes);
  return bytes;
}

export function encodeEvents(events: readonly Event[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const event of events) writer.bytes(encoded(event));
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

/** The bytes of an event in the log before they are compressed. */
export const encodedSize = (event: Event): number => sizes.get(event) ?? encoded(event).length;
