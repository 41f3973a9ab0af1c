/** How reservations are stored. */

import { annotations } from "../../../platform/dynamodb/annotations.ts";
import { caller } from "../../../platform/dynamodb/callers.ts";
import { shardOf } from "../../../platform/dynamodb/codec.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  type Field,
  field,
  group,
  maybe,
  number,
  numberOf,
  oneOf,
  optional,
  partOf,
  type Type,
  text,
  unless,
} from "../../../platform/dynamodb/fields.ts";
import { S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import type { Reason } from "../../../platform/words/reasons.ts";
import type { AccountName } from "../../../points/ports/points.ts";
import type { EarlyExpiry } from "../../../points/rules/early-expiry.ts";
import { reservationShardsOf } from "../../../points/rules/program.ts";
import {
  isOpen,
  type Reservation,
  type ReservationChange,
  type ReservationState,
} from "../../rules/reservation.ts";

const expiryFields = group<EarlyExpiry>({
  expireMonth: optional("em", number),
  expireAfterMonths: optional("ea", number),
});

/** An early expiry has either attribute. */
const expiry: Field<EarlyExpiry | undefined> = {
  ...maybe(expiryFields),
  get: (item) => (item.em || item.ea ? expiryFields.get(item) : undefined),
};

/** The 24 bytes of trace and span. The version is 00, and the flag that of a recorded span. */
const traceparent: Type<string> = {
  encode: (value) => ({ B: Buffer.from(value.slice(3, -3).replace("-", ""), "hex") }),
  decode({ B: bytes }) {
    if (!bytes) return undefined;
    const ids = Buffer.from(bytes).toString("hex");
    return `00-${ids.slice(0, 32)}-${ids.slice(32)}-01`;
  },
  none: () => "",
};

const [creator, changer] = [caller("w"), caller("mw")];

/** The last change. Its caller is stored only where it is not the creator, which is put before. */
const lastChange = group<ReservationChange>({
  time: field("mt", number),
  caller: {
    attribute: "mw",
    put(value, item) {
      const { service, subject } = creator.get(item);
      if (value.service !== service || value.subject !== subject) changer.put(value, item);
    },
    get: (item) => (item.mw ? changer : creator).get(item),
  },
  reason: unless("", "mr", text),
});

export const reservation = defineRecord<"reservation">({
  table: "reservations",
  // A reservation is never deleted, so that a creation that arrives late finds it.
  plainWrites: true,
  key: (id) => ({ pk: S(id) }),
  fields: {
    programId: partOf("pk", 0),
    reservationId: partOf("pk", 1),
    userId: field("u", text),
    points: field("p", number),
    ...annotations,
    creator,
    hash: field("h", text),
    executeTime: numberOf("ix", 0),
    expiry,
    state: field("s", oneOf<ReservationState>()),
    createTime: field("c", number),
    updateTime: field("m", number),
    grant: maybe(
      group<NonNullable<Reservation["grant"]>>({
        time: field("d", number),
        entryNumber: field("n", number),
        dueSince: field("ds", number),
      }),
    ),
    failure: maybe(
      group<NonNullable<Reservation["failure"]>>({
        reason: field("fr", oneOf<Reason>()),
        message: field("fm", text),
      }),
    ),
    traceparent: optional("tp", traceparent),
    lastChange: maybe(lastChange),
    reservationShardCount: optional("sc", number),
  },
  derived: (value) => ({
    iu: S(userKey(value, value.state)),
    ...(isOpen(value) && {
      is: S(stateKey(value, shardOf(value.reservationId, reservationShardsOf(value)))),
    }),
    ix: S(`${timeKey(value.executeTime)}#${value.reservationId}`),
  }),
});

/**
 * The hash key of the user index. Each state has a key of its own, by its first letter, so that
 * what is pending is found without reading what has ended.
 */
export const userKey = ({ programId, userId }: AccountName, state: ReservationState): string =>
  `${programId}#${userId}${state === "PENDING" ? "" : `#${state[0]}`}`;

/** The hash key of the state index, which only has reservations that have not ended. */
export const stateKey = (
  { programId, state }: Pick<Reservation, "programId" | "state">,
  shard: number,
): string => `${programId}#${state}#${shard}`;
