/** How reservations are stored. */
import type { ReservationShard } from "../../../app/ports/reservations.ts";
import type { Caller } from "../../../domain/caller.ts";
import type { Reason } from "../../../domain/errors.ts";
import type { ReservationState } from "../../../domain/reservation.ts";
import { N, num, pad, parts, S, text } from "../sdk/attributes.ts";
import { decodeCaller, encodeCaller } from "./callers.ts";
import { type Codec, shardOf } from "./codec.ts";

export const reservation: Codec<"reservation"> = {
  table: "reservations",
  key: (id) => ({ pk: S(id) }),
  encode: (value) => ({
    iu: S(`${value.programId}#${value.userId}`),
    is: S(stateKey({ ...value, unsynced: !!value.unsynced }, shardOf(value.reservationId))),
    ix: S(`${executeKey(value.executeTime)}#${value.reservationId}`),
    u: S(value.userId),
    p: N(value.points),
    ...encodeCaller("w", value.caller),
    h: S(value.hash),
    s: S(value.state),
    c: N(value.createTime),
    m: N(value.updateTime),
    ...(value.reason !== "" && { r: S(value.reason) }),
    ...(value.executed && { d: N(value.executed.time), n: N(value.executed.entryNumber) }),
    ...(value.executed?.dueSince !== undefined && { ds: N(value.executed.dueSince) }),
    ...(value.failure && { fr: S(value.failure.reason), fm: S(value.failure.message) }),
    ...(value.unsynced && { y: { BOOL: true } }),
    ...(!isSameCaller(value.changedBy, value.caller) && encodeCaller("mw", value.changedBy)),
    ...(value.changeReason && { mr: S(value.changeReason) }),
  }),
  decode: (item) => {
    const [programId, reservationId] = parts(item, "pk") as [string, string];
    const executed = {
      time: num(item, "d"),
      entryNumber: num(item, "n"),
      ...(item.ds && { dueSince: num(item, "ds") }),
    };
    const failure = { reason: text(item, "fr") as Reason, message: text(item, "fm") };
    return {
      programId,
      reservationId,
      userId: text(item, "u"),
      points: num(item, "p"),
      reason: text(item, "r"),
      caller: decodeCaller(item, "w"),
      hash: text(item, "h"),
      executeTime: Number(parts(item, "ix")[0]),
      state: text(item, "s") as ReservationState,
      createTime: num(item, "c"),
      updateTime: num(item, "m"),
      ...(item.d && { executed }),
      ...(item.fr && { failure }),
      ...(item.y && { unsynced: true as const }),
      changedBy: decodeCaller(item, item.mw ? "mw" : "w"),
      ...(item.mr && { changeReason: text(item, "mr") }),
    };
  },
};

const isSameCaller = (a: Caller, b: Caller): boolean =>
  a.service === b.service && a.subject === b.subject;

/**
 * The hash key of the state index. Rows that are not synced have keys of their own, so that the
 * reconciler finds them without reading the others.
 */
export const stateKey = (
  { programId, state, unsynced }: Omit<ReservationShard, "shard">,
  shard: number,
): string => `${programId}#${state}${unsynced ? "!" : ""}#${shard}`;

/** An execute time in the range key, padded so that it sorts as text in the order of times. */
export const executeKey = (time: number): string => pad(time, 15);
