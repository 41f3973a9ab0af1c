/** Events made by hand, for tests of those who read events. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  BalanceCrossed_Direction as Direction,
  type Event,
  EventSchema,
} from "../../../src/gen/meguri/events/v1/event_pb.ts";
import type { Hold_State as HoldState } from "../../../src/gen/meguri/holds/v1/hold_pb.ts";
import { LedgerEntry_Type as Type } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import type { Reservation_State as State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";

type Data = NonNullable<MessageInitShape<typeof EventSchema>["data"]>;

const event = (id: string, type: string, data: Data): Event =>
  create(EventSchema, {
    ...{ id, type, source: "/meguri/test", subject: id.slice(0, id.lastIndexOf("/")), data },
    time: timestampFromMs(1_790_000_000_000),
  });

const [programId, userId] = ["default", "aoi"];

export const entry = (number: number, type: Type, points: number, availablePoints: number): Event =>
  event(`points/default/aoi/${number}`, `points.${Type.USED === type ? "used" : "issued"}`, {
    case: "entryRecorded",
    value: {
      ...{ programId, userId },
      entry: {
        ...{ number: BigInt(number), type, availablePoints: BigInt(availablePoints) },
        ...{ points: BigInt(Math.abs(points)) },
        monthChanges: [{ month: "2026-11", points: BigInt(points) }],
      },
    },
  });

export const crossing = (number: number, before: number, after: number): Event => ({
  ...event(`points/default/aoi/${number}/below/100`, "points.balance_crossed", {
    case: "balanceCrossed",
    value: {
      ...{ programId, userId, limitPoints: 100n, direction: Direction.BELOW },
      ...{ entryNumber: BigInt(number), previousAvailablePoints: BigInt(before) },
      availablePoints: BigInt(after),
    },
  }),
  subject: "points/default/aoi",
});

export const hold = (v: number, state: HoldState, type: string): Event =>
  event(`holds/default/h/${v}`, type, {
    case: "holdChanged",
    value: { recordVersion: BigInt(v), hold: { programId, holdId: "h", userId, state } },
  });

export const reservation = (v: number, state: State, type: string): Event =>
  event(`reservations/default/r/${v}`, type, {
    case: "reservationChanged",
    value: { recordVersion: BigInt(v), reservation: { programId, reservationId: "r", state } },
  });

export const notification = (
  id: string,
  type: string,
  version: number,
  actors: number,
  read = false,
) =>
  event(`notifications/owner/${id}/${version}`, type, {
    case: "notificationChanged",
    value: {
      ...{ ownerId: "owner", notificationId: id, recordVersion: BigInt(version), kind: "like" },
      actorCount: BigInt(actors),
      ...(read && { readTime: timestampFromMs(1) }),
    },
  });

export const dismissed = (id: string, version: number): Event => {
  const gone = notification(id, "notification.dismissed", version, 0);
  return { ...gone, id: `${gone.id}/gone` };
};

export const gap = (name: "found" | "closed", eventCount = 0n): Event =>
  name === "found"
    ? event("events/gap/reservations/1", "events.gap_found", {
        case: "gapFound",
        value: { table: "reservations" },
      })
    : event("events/gap/reservations/1/closed", "events.gap_closed", {
        case: "gapClosed",
        value: { table: "reservations", eventCount },
      });
