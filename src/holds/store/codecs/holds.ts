/** How holds are stored: in the table of reservations, whose indexes they share. */

import { annotations } from "../../../platform/dynamodb/annotations.ts";
import { caller } from "../../../platform/dynamodb/callers.ts";
import { shardOf } from "../../../platform/dynamodb/codec.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  either,
  field,
  number,
  numberOf,
  oneOf,
  optional,
  partOf,
  text,
  tuple,
  unless,
} from "../../../platform/dynamodb/fields.ts";
import { S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import type { AccountName } from "../../../points/ports/points.ts";
import { monthChanges } from "../../../points/store/codecs/points.ts";
import { heldShardsOf } from "../../ports/holds.ts";
import type { Hold, HoldState, Release } from "../../rules/hold.ts";

export const hold = defineRecord<"hold">({
  table: "reservations",
  // No program id has an upper-case letter, so this is the key of no reservation.
  key: (id) => ({ pk: S(`H#${id}`) }),
  fields: {
    programId: partOf("pk", 1),
    holdId: partOf("pk", 2),
    userId: field("u", text),
    months: field("g", monthChanges),
    until: numberOf("ix", 0),
    expiredPointsPolicy: either("z", "CURRENT_MONTH", "ORIGINAL_EXPIRY"),
    ...annotations,
    creator: caller("w"),
    hash: field("h", text),
    state: field("s", oneOf<HoldState>()),
    createTime: field("c", number),
    updateTime: field("m", number),
    heldTime: field("t", number),
    entryNumber: field("n", number),
    availablePoints: field("b", number),
    capturedPoints: unless(0, "kp", number),
    captureCount: unless(0, "k", number),
    release: optional(
      "e",
      tuple<Release>({ points: number, entryNumber: number, availablePoints: number }),
    ),
    reservationShardCount: optional("sc", number),
  },
  derived: (value) => ({
    iu: S(holdsOfUserKey(value)),
    ...(value.state === "HELD" && {
      is: S(heldKey(value.programId, shardOf(value.holdId, heldShardsOf(value)))),
    }),
    ix: S(untilKey(value)),
  }),
});

/**
 * The hash key of the user index. It is the same in all states, so that the end of a hold does not
 * move it. No state of reservations begins with this letter.
 */
export const holdsOfUserKey = ({ programId, userId }: AccountName): string =>
  `${programId}#${userId}#H`;

/** The range key of both indexes. */
export const untilKey = ({ until, holdId }: Hold): string => `${timeKey(until)}#${holdId}`;

/** The hash key of the state index, which only has holds that have not ended. */
export const heldKey = (programId: string, shard: number): string => `${programId}#HELD#${shard}`;
