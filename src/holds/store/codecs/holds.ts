/** How holds are stored: in the table of reservations, whose indexes they share. */

import { decodeCaller, encodeCaller } from "../../../platform/dynamodb/callers.ts";
import { type Codec, shardOf } from "../../../platform/dynamodb/codec.ts";
import {
  type Item,
  N,
  num,
  numbers,
  nums,
  parts,
  S,
  text,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import type { AccountName } from "../../../points/ports/points.ts";
import { decodeChanges, encodeChanges } from "../../../points/store/codecs/points.ts";
import { heldShardCount } from "../../ports/holds.ts";
import type { Capture, Hold, HoldState } from "../../rules/hold.ts";

export const hold: Codec<"hold"> = {
  table: "reservations",
  // No program id has an upper-case letter, so this is the key of no reservation.
  key: (id) => ({ pk: S(`H#${id}`) }),
  encode: (value) => ({
    iu: S(holdsOfUserKey(value)),
    ...(value.state === "HELD" && {
      is: S(heldKey(value.programId, shardOf(value.holdId, heldShardCount))),
    }),
    ix: S(untilKey(value)),
    u: S(value.userId),
    g: numbers(encodeChanges(value.months)),
    ...encodeCaller("w", value.creator),
    h: S(value.hash),
    s: S(value.state),
    c: N(value.createTime),
    m: N(value.updateTime),
    t: N(value.heldTime),
    n: N(value.entryNumber),
    b: N(value.availablePoints),
    ...(value.expiredPointsPolicy === "CURRENT_MONTH" && { z: { BOOL: true } }),
    ...(value.reason !== "" && { r: S(value.reason) }),
    ...(value.cause && { o: S(value.cause) }),
    ...(value.captures.length > 0 && { k: { L: value.captures.map(encodeCapture) } }),
    ...(value.release && { e: numbers(toNumbers(value.release)) }),
  }),
  decode: (item) => {
    const [, programId, holdId] = parts(item, "pk") as [string, string, string];
    const [points = 0, entryNumber = 0, availablePoints = 0] = nums(item, "e");
    return {
      programId,
      holdId,
      userId: text(item, "u"),
      months: decodeChanges(nums(item, "g")),
      until: Number(parts(item, "ix")[0]),
      expiredPointsPolicy: item.z ? "CURRENT_MONTH" : "ORIGINAL_EXPIRY",
      reason: text(item, "r"),
      creator: decodeCaller(item, "w"),
      hash: text(item, "h"),
      state: text(item, "s") as HoldState,
      createTime: num(item, "c"),
      updateTime: num(item, "m"),
      heldTime: num(item, "t"),
      entryNumber: num(item, "n"),
      availablePoints: num(item, "b"),
      ...(item.o && { cause: text(item, "o") }),
      captures: (item.k?.L ?? []).map((each) => decodeCapture(each.M ?? {})),
      ...(item.e && { release: { points, entryNumber, availablePoints } }),
    };
  },
};

const toNumbers = ({ points, entryNumber, availablePoints }: NonNullable<Hold["release"]>) => [
  points,
  entryNumber,
  availablePoints,
];

const encodeCapture = (value: Capture) => ({
  M: {
    e: S(value.eventId),
    h: S(value.hash),
    p: N(value.points),
    t: N(value.time),
    n: N(value.entryNumber),
    b: N(value.availablePoints),
    ...(value.refundedPoints && { f: N(value.refundedPoints) }),
  },
});

const decodeCapture = (item: Item): Capture => ({
  eventId: text(item, "e"),
  hash: text(item, "h"),
  points: num(item, "p"),
  time: num(item, "t"),
  entryNumber: num(item, "n"),
  availablePoints: num(item, "b"),
  ...(item.f && { refundedPoints: num(item, "f") }),
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
