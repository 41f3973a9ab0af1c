/** The calls that the benchmarks make, each with an event id of its own. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { HoldService } from "../../src/gen/meguri/holds/v1/hold_service_pb.ts";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ReservationService } from "../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import type { Channel } from "./rpc.ts";

const { grantPoints, usePoints, getBalance } = PointsService.method;

let events = 0;
const run = Date.now().toString(36);

/** An id that is unique in this process. All have one length, so that items have one size. */
const eventId = () => `bench-${run}-${String(++events).padStart(9, "0")}`;

const reason = "bench";

export const grant = (channel: Channel, userId: string, points = 5n): Promise<void> =>
  channel.send(grantPoints, { userId, points, eventId: eventId(), reason });

/** A grant whose points end early. */
export const grantUntil = (channel: Channel, userId: string, expireMonth: string): Promise<void> =>
  channel.send(grantPoints, { userId, points: 5n, eventId: eventId(), reason, expireMonth });

export const use = (channel: Channel, userId: string, points = 1n): Promise<void> =>
  channel.send(usePoints, { userId, points, eventId: eventId(), reason });

export const balance = (channel: Channel, userId: string): Promise<void> =>
  channel.send(getBalance, { userId });

/** A hold of four points whose id is that of the user. */
export const hold = (channel: Channel, userId: string): Promise<void> =>
  channel.send(HoldService.method.holdPoints, {
    ...{ userId, holdId: userId, points: 4n, reason },
    until: timestampFromMs(Date.now() + 3_600_000),
  });

/** A capture of one point of it. */
export const capture = (channel: Channel, userId: string, moreCapturesFollow: boolean) =>
  channel.send(HoldService.method.capturePoints, {
    ...{ userId, holdId: userId, eventId: eventId(), points: 1n, reason },
    moreCapturesFollow,
  });

export interface Reserved {
  readonly id: string;
  readonly userId: string;
  /** In milliseconds since the epoch. */
  readonly executeTime: number;
}

export const reserve = (channel: Channel, { id, userId, executeTime }: Reserved): Promise<void> =>
  channel.send(ReservationService.method.createReservation, {
    reservationId: id,
    userId,
    points: 5n,
    reason,
    executeTime: timestampFromMs(executeTime),
  });

/** The id of a user. All have one length. */
export const userName = (i: number): string => `user-${String(i).padStart(7, "0")}`;
