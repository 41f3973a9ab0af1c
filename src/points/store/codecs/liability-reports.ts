/** How liability reports are stored. */

import { decodeCaller, encodeCaller } from "../../../platform/dynamodb/callers.ts";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import {
  type Item,
  N,
  num,
  optional,
  parts,
  S,
  strings,
  text,
  texts,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import type { LiabilityResult } from "../../rules/liability.ts";

/** The partition of a program's reports. */
export const reportsKey = (programId: string): string => `O#${programId}`;

export const liabilityReport: Codec<"liabilityReport"> = {
  table: "points",
  key: (id) => {
    const at = id.indexOf("#");
    return { pk: S(reportsKey(id.slice(0, at))), sk: S(id.slice(at + 1)) };
  },
  encode: ({ asOf, since, hash, caller, result }) => ({
    t: N(asOf),
    h: S(hash),
    ...encodeCaller("w", caller),
    ...(since !== undefined && { f: N(since) }),
    ...(result && encodeResult(result)),
  }),
  decode: (item) => {
    const since = optional(item, "f");
    return {
      programId: parts(item, "pk")[1] as string,
      reportId: text(item, "sk"),
      hash: text(item, "h"),
      caller: decodeCaller(item, "w"),
      asOf: num(item, "t"),
      ...(since !== undefined && { since }),
      ...(item.d && { result: decodeResult(item) }),
    };
  },
};

/** Sums are numbers of up to 38 digits in DynamoDB, so their texts are kept as they are. */
function encodeResult(result: LiabilityResult): Item {
  const { endTime, accounts, members, outstanding, buckets, totals, failed, failures } = result;
  const sums = Object.entries(totals).map(([name, sum]) => [
    name.replace("Points", ""),
    { N: sum },
  ]);
  const flat = buckets.flatMap((each) => [N(each.month), N(each.expireTime), { N: each.points }]);
  return {
    d: N(endTime),
    k: N(accounts),
    m: N(members),
    g: { N: outstanding },
    ...(result.held !== undefined && { q: { N: result.held } }),
    T: { M: Object.fromEntries(sums) },
    b: { L: flat },
    ...(failed > 0 && {
      x: N(failed),
      e: strings(failures.flatMap(({ userId, reason }) => [userId, reason])),
    }),
  };
}

function decodeResult(item: Item): LiabilityResult {
  const sums = Object.entries(item.T?.M ?? {}).map(([name, sum]) => [`${name}Points`, sum.N ?? ""]);
  const flat = (item.b?.L ?? []).map(({ N: value = "" }) => value);
  const names = texts(item, "e");
  return {
    endTime: num(item, "d"),
    accounts: num(item, "k"),
    members: num(item, "m"),
    outstanding: item.g?.N ?? "",
    ...(item.q?.N !== undefined && { held: item.q.N }),
    totals: Object.fromEntries(sums),
    buckets: chunks(flat, 3).map(([month, expireTime, points]) => ({
      month: Number(month),
      expireTime: Number(expireTime),
      points: points as string,
    })),
    failed: num(item, "x"),
    failures: chunks(names, 2).map(([userId, reason]) => ({
      userId: userId as string,
      reason: reason as string,
    })),
  };
}

const chunks = (values: readonly string[], size: number): (readonly string[])[] =>
  Array.from({ length: values.length / size }, (_, i) => values.slice(size * i, size * (i + 1)));
