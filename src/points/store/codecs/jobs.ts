/** How jobs are stored: what their kinds ask and find, as JSON. */
import { decodeCaller, encodeCaller } from "../../../platform/dynamodb/callers.ts";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import { N, num, parts, S, text } from "../../../platform/dynamodb/sdk/attributes.ts";

/** The partition of a program's jobs, and the prefix of the sort keys of one kind. */
export const jobsKey = (programId: string): string => `O#${programId}`;
export const kindPrefix = (kind: string): string => `${kind}#`;

export const job: Codec<"job"> = {
  table: "points",
  key(id) {
    const [programId = "", kind = "", jobId] = id.split("#");
    return { pk: S(jobsKey(programId)), sk: S(`${kindPrefix(kind)}${jobId}`) };
  },
  encode: ({ createTime, hash, caller, request, result }) => ({
    t: N(createTime),
    h: S(hash),
    ...encodeCaller("w", caller),
    q: S(JSON.stringify(request)),
    ...(result && { d: N(result.endTime), r: S(JSON.stringify(result.sum)) }),
  }),
  decode(item) {
    const [kind = "", jobId = ""] = parts(item, "sk");
    return {
      programId: parts(item, "pk")[1] as string,
      kind,
      jobId,
      hash: text(item, "h"),
      caller: decodeCaller(item, "w"),
      createTime: num(item, "t"),
      request: JSON.parse(text(item, "q")),
      ...(item.d && { result: { endTime: num(item, "d"), sum: JSON.parse(text(item, "r")) } }),
    };
  },
};
