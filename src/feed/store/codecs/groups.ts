/** How the groups of notifications are stored: members, counts and versions, in under 1 KB. */

import { type Item, N, num, strings, texts } from "../../../platform/dynamodb/sdk/attributes.ts";
import { type Group, type Member, type UnreadGroup, versionOf } from "../../rules/unread-group.ts";
import { decodeVarints, encodeVarints } from "./varints.ts";

/** The attributes of every group. The item or its key has the generation, too. */
export function encodeGroup(value: Group): Item {
  const { generation, memberCount, actorCount, firstMembers, latestMembers } = value;
  const version = versionOf(value);
  return {
    l: N(version),
    p: N(actorCount),
    a: encodeNames(firstMembers),
    z: encodeNames(latestMembers),
    m: {
      B: encodeVarints([
        memberCount - actorCount,
        ...firstMembers.flatMap((each) => [each.version - generation, each.createTime]),
        ...latestMembers.flatMap((each) => [version - each.version, each.createTime]),
      ]),
    },
  };
}

export function decodeGroup(item: Item, generation: number) {
  const [version, actorCount] = [num(item, "l"), num(item, "p")];
  const [moreMembers = 0, ...numbers] = decodeVarints(item.m?.B);
  const [first, latest] = [texts(item, "a"), texts(item, "z")];
  // Two numbers and two names for each member.
  const members = {
    firstMembers: decodeMembers(first, numbers, (after) => generation + after),
    latestMembers: decodeMembers(latest, numbers.slice(first.length), (before) => version - before),
  };
  return { generation, memberCount: actorCount + moreMembers, actorCount, ...members };
}

const encodeNames = (members: readonly Member[]) =>
  strings(members.flatMap(({ userId, displayName }) => [userId, displayName]));

function decodeMembers(
  names: readonly string[],
  numbers: readonly number[],
  versionOfNumber: (difference: number) => number,
): Member[] {
  const members: Member[] = [];
  for (let i = 0; i < names.length; i += 2) {
    const [userId = "", displayName = ""] = names.slice(i, i + 2);
    const [difference = 0, createTime = 0] = numbers.slice(i, i + 2);
    members.push({ userId, displayName, version: versionOfNumber(difference), createTime });
  }
  return members;
}

/** The attributes of an unread group that later joins and leaves need. */
export function encodeChanges({ generation, recent, leaveCount, leaveTime }: UnreadGroup): Item {
  const { after, count, middle, lateCount, middleTime } = recent;
  const leaves = leaveCount > 0 ? [leaveCount, leaveTime] : [];
  const counts = [after - (generation - 1), count, middle - after, lateCount, middleTime];
  return { r: { B: encodeVarints([...counts, ...leaves]) } };
}

export function decodeChanges(item: Item, generation: number) {
  const [sinceBegin = 0, count = 0, late = 0, lateCount = 0, middleTime = 0, ...leaves] =
    decodeVarints(item.r?.B);
  const [leaveCount = 0, leaveTime = 0] = leaves;
  const after = generation - 1 + sinceBegin;
  const recent = { after, count, middle: after + late, lateCount, middleTime };
  return { recent, leaveCount, leaveTime };
}
