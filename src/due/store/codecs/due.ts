/** How marks and due hours are stored. */
import { type Codec, shardOf } from "../../../platform/dynamodb/codec.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import { numberOf, partOf } from "../../../platform/dynamodb/fields.ts";
import { N, num, parts, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import { dueHourShardCount, markShardCount, type PendingStart } from "../../ports/due.ts";

/** The partition of the pending starts of a shard. */
export const pendingStartsKey = (shard: number) => S(`S#${shard}`);

export const pendingStart: Codec<"pendingStart"> = {
  table: "points",
  // A mark that is set again is found and deleted by the reconciler. A deletion has its version.
  plainWrites: true,
  key(id) {
    return { pk: pendingStartsKey(shardOf(id, markShardCount)), sk: S(id) };
  },
  encode: ({ time }) => ({ t: N(time) }),
  decode: (item): PendingStart => {
    const [programId, id, holdId] = parts(item, "sk") as [string, string, string?];
    const name = holdId === undefined ? { reservationId: id } : { holdId };
    return { programId, ...name, time: num(item, "t") };
  },
};

/** The partition of the due hours of a shard. */
export const dueHoursKey = (shard: number) => S(`D#${shard}`);

export const dueHour = defineRecord<"dueHour">({
  table: "points",
  // One that is written again is deleted again, and a deletion has its version.
  plainWrites: true,
  key(id) {
    const [programId, hour] = id.split("#") as [string, string];
    const sk = S(`${timeKey(Number(hour))}#${programId}`);
    return { pk: dueHoursKey(shardOf(programId, dueHourShardCount)), sk };
  },
  fields: { programId: partOf("sk", 1), hour: numberOf("sk", 0) },
});
