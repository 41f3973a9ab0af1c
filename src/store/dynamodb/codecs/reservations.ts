/** How reservations are stored. */
import type { Reason } from "../../../domain/errors.ts";
import type { ReservationState } from "../../../domain/reservation.ts";
import { N, num, pad, parts, S, text } from "../sdk/attributes.ts";
import { type Codec, shardOf } from "./codec.ts";

export const reservation: Codec<"reservation"> = {
  table: "reservations",
  key: (id) => ({ pk: S(id) }),
  encode: (value) => ({
    iu: S(`${value.programId}#${value.userId}`),
    is: S(stateKey(value.programId, value.state, shardOf(value.reservationId))),
    ix: S(`${executeKey(value.executeTime)}#${value.reservationId}`),
    u: S(value.userId),
    p: N(value.points),
    w: S(value.caller),
    h: S(value.hash),
    s: S(value.state),
    c: N(value.createTime),
    m: N(value.updateTime),
    ...(value.reason !== "" && { r: S(value.reason) }),
    ...(value.executed && { d: N(value.executed.time), n: N(value.executed.entryNumber) }),
    ...(value.failure && { fr: S(value.failure.reason), fm: S(value.failure.message) }),
    ...(value.failedRunId && { fx: S(value.failedRunId) }),
    ...(value.movedEarlier && { q: { BOOL: true } }),
  }),
  decode: (item) => {
    const [programId, reservationId] = parts(item, "pk") as [string, string];
    const failure = { reason: text(item, "fr") as Reason, message: text(item, "fm") };
    return {
      programId,
      reservationId,
      userId: text(item, "u"),
      points: num(item, "p"),
      reason: text(item, "r"),
      caller: text(item, "w"),
      hash: text(item, "h"),
      executeTime: Number(parts(item, "ix")[0]),
      state: text(item, "s") as ReservationState,
      createTime: num(item, "c"),
      updateTime: num(item, "m"),
      ...(item.d && { executed: { time: num(item, "d"), entryNumber: num(item, "n") } }),
      ...(item.fr && { failure }),
      ...(item.fx && { failedRunId: text(item, "fx") }),
      ...(item.q && { movedEarlier: true as const }),
    };
  },
};

/** The hash key of the state index. */
export const stateKey = (programId: string, state: ReservationState, shard: number): string =>
  `${programId}#${state}#${shard}`;

/** An execute time in the range key, padded so that it sorts as text in the order of times. */
export const executeKey = (time: number): string => pad(time, 15);
