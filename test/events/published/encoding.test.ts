/** Tests how events are encoded for the log. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { decodeEvents, encodedSize, encodeEvents } from "../../../src/events/published/encoding.ts";
import { EventSchema } from "../../../src/gen/meguri/events/v1/event_pb.ts";

test("an event is encoded once, for its size and for its batch", () => {
  const event = create(EventSchema, { id: "points/p/u/1" });
  let readings = 0;
  const get = () => {
    readings += 1;
    return "points.used";
  };
  Object.defineProperty(event, "type", { get, enumerable: true });
  const size = encodedSize(event);
  const once = readings;
  const [decoded] = decodeEvents(encodeEvents([event]));
  expect(encodedSize(event)).toBe(size);
  expect(readings).toBe(once);
  expect(decoded).toMatchObject({ id: "points/p/u/1", type: "points.used" });
  expect(decoded && encodedSize(decoded)).toBe(size);
});
