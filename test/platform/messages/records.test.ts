/** Tests messages that are made of records by the descriptor of the message. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import {
  Hold_State,
  Hold_StateSchema,
  HoldSchema,
} from "../../../src/gen/meguri/holds/v1/hold_pb.ts";
import { GetHoldResponseSchema } from "../../../src/gen/meguri/holds/v1/hold_service_pb.ts";
import { ExpiredPointsPolicy } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ReservationSchema } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { fromRecord, toEnumName } from "../../../src/platform/messages/records.ts";

const hold = {
  holdId: "h",
  points: 5,
  state: "HELD",
  until: 1_500,
  expiredPointsPolicy: "CURRENT_MONTH",
  creator: { service: "shop", subject: "ren" },
  cause: undefined,
  hash: "not in the message",
};
const captures = [{ eventId: "e", points: 2, createTime: 1_000, hash: "not in the message" }];

test("each field has the value of the property with its name, converted by its type", () => {
  const schema = GetHoldResponseSchema;
  expect(create(schema, fromRecord(schema, { hold, captures }))).toEqual(
    create(schema, {
      hold: {
        holdId: "h",
        points: 5n,
        state: Hold_State.HELD,
        until: timestampFromMs(1_500),
        expiredPointsPolicy: ExpiredPointsPolicy.CURRENT_MONTH,
        creator: { service: "shop", subject: "ren" },
      },
      captures: [{ eventId: "e", points: 2n, createTime: timestampFromMs(1_000) }],
    } satisfies MessageInitShape<typeof schema>),
  );
});

test("a caller without a service is nobody, a duration is in milliseconds, a oneof stays", () => {
  const record = {
    creator: { service: "", subject: "" },
    lateness: 1_500,
    expiry: { case: "expireAfterMonths", value: 3 } as const,
  };
  expect(create(ReservationSchema, fromRecord(ReservationSchema, record))).toEqual(
    create(ReservationSchema, { lateness: durationFromMs(1_500), expiry: record.expiry }),
  );
});

test("a name that the enum does not have is refused", () => {
  expect(() => fromRecord(HoldSchema, { ...hold, state: "LOST" })).toThrow("has no LOST");
});

test("values of an enum have names, and the unspecified one has none", () => {
  expect(toEnumName(Hold_StateSchema, Hold_State.EXPIRED)).toBe("EXPIRED");
  expect(toEnumName(Hold_StateSchema, Hold_State.UNSPECIFIED)).toBeUndefined();
  expect(toEnumName(Hold_StateSchema, 99)).toBeUndefined();
});
