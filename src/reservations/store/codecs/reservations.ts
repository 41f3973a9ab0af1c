/** How reservations are stored. */

import { decodeCaller, encodeCaller } from "../../../platform/dynamodb/callers.ts";
import { type Codec, shardOf } from "../../../platform/dynamodb/codec.ts";
import { type Item, N, num, parts, S, text } from "../../../platform/dynamodb/sdk/attributes.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import type { Caller } from "../../../platform/words/caller.ts";
import type { Reason } from "../../../platform/words/reasons.ts";
import type { AccountName } from "../../../points/ports/points.ts";
import { shardCount } from "../../../points/ports/points.ts";
import type { EarlyExpiry } from "../../../points/rules/early-expiry.ts";
import type { Reservation, ReservationState } from "../../rules/reservation.ts";

export const reservation: Codec<"reservation"> = {
  table: "reservations",
  // A reservation is never deleted, so that a creation that arrives late finds it.
  plainWrites: true,
  key: (id) => ({ pk: S(id) }),
  encode: (value) => ({
    iu: S(userKey(value, value.state)),
    is: S(stateKey(value, shardOf(value.reservationId, shardCount))),
    ix: S(`${timeKey(value.executeTime)}#${value.reservationId}`),
    u: S(value.userId),
    p: N(value.points),
    ...encodeCaller("w", value.creator),
    h: S(value.hash),
    s: S(value.state),
    c: N(value.createTime),
    m: N(value.updateTime),
    ...(value.reason !== "" && { r: S(value.reason) }),
    ...(value.cause && { o: S(value.cause) }),
    ...(value.expiry && encodeExpiry(value.expiry)),
    ...(value.grant && encodeGrant(value.grant)),
    ...(value.failure && { fr: S(value.failure.reason), fm: S(value.failure.message) }),
    ...(value.traceparent && { tp: encodeTraceparent(value.traceparent) }),
    ...(value.lastChange && encodeChange(value.lastChange, value.creator)),
  }),
  decode: (item) => {
    const [programId, reservationId] = parts(item, "pk") as [string, string];
    const grant = {
      time: num(item, "d"),
      entryNumber: num(item, "n"),
      dueSince: num(item, "ds"),
    };
    const failure = { reason: text(item, "fr") as Reason, message: text(item, "fm") };
    return {
      programId,
      reservationId,
      userId: text(item, "u"),
      points: num(item, "p"),
      reason: text(item, "r"),
      ...(item.o && { cause: text(item, "o") }),
      creator: decodeCaller(item, "w"),
      hash: text(item, "h"),
      executeTime: Number(parts(item, "ix")[0]),
      ...((item.em || item.ea) && { expiry: decodeExpiry(item) }),
      state: text(item, "s") as ReservationState,
      createTime: num(item, "c"),
      updateTime: num(item, "m"),
      ...(item.d && { grant }),
      ...(item.fr && { failure }),
      ...(item.tp?.B && { traceparent: decodeTraceparent(item.tp.B) }),
      ...(item.mt && { lastChange: decodeChange(item) }),
    };
  },
};

const encodeExpiry = ({ expireMonth, expireAfterMonths }: EarlyExpiry): Item => ({
  ...(expireMonth !== undefined && { em: N(expireMonth) }),
  ...(expireAfterMonths !== undefined && { ea: N(expireAfterMonths) }),
});

const decodeExpiry = (item: Item): EarlyExpiry =>
  item.em ? { expireMonth: num(item, "em") } : { expireAfterMonths: num(item, "ea") };

const encodeGrant = ({ time, entryNumber, dueSince }: NonNullable<Reservation["grant"]>) => ({
  d: N(time),
  n: N(entryNumber),
  ds: N(dueSince),
});

/** The 24 bytes of trace and span. The version is 00, and the flag that of a recorded span. */
const encodeTraceparent = (traceparent: string) => ({
  B: Buffer.from(traceparent.slice(3, -3).replace("-", ""), "hex"),
});

function decodeTraceparent(bytes: Uint8Array): string {
  const ids = Buffer.from(bytes).toString("hex");
  return `00-${ids.slice(0, 32)}-${ids.slice(32)}-01`;
}

/** The caller is stored only where it is not the creator, and the reason only where it is given. */
const encodeChange = (
  { caller, time, reason }: NonNullable<Reservation["lastChange"]>,
  creator: Caller,
) => ({
  mt: N(time),
  ...(!isSameCaller(caller, creator) && encodeCaller("mw", caller)),
  ...(reason !== "" && { mr: S(reason) }),
});

const decodeChange = (item: Item): NonNullable<Reservation["lastChange"]> => ({
  caller: decodeCaller(item, item.mw ? "mw" : "w"),
  time: num(item, "mt"),
  reason: text(item, "mr"),
});

const isSameCaller = (a: Caller, b: Caller): boolean =>
  a.service === b.service && a.subject === b.subject;

/**
 * The hash key of the user index. Each state has a key of its own, by its first letter, so that
 * what is pending is found without reading what has ended.
 */
export const userKey = ({ programId, userId }: AccountName, state: ReservationState): string =>
  `${programId}#${userId}${state === "PENDING" ? "" : `#${state[0]}`}`;

/** The hash key of the state index. */
export const stateKey = (
  { programId, state }: Pick<Reservation, "programId" | "state">,
  shard: number,
): string => `${programId}#${state}#${shard}`;
