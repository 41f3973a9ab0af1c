/** Reads a CPU profile and divides its time between packages. */
import { readFile } from "node:fs/promises";
import type { Profiler } from "node:inspector";

/** Shares of the time in which the process was busy, by the owner of the code, largest first. */
export type Shares = readonly (readonly [owner: string, share: number])[];

export interface Profiled {
  /** The shares of the code that ran. */
  readonly self: Shares;
  /** The same, with the time of Node and V8 added to the code that called them. */
  readonly onBehalf: Shares;
  /** The shares of functions. */
  readonly functions: Shares;
  /** The share of the time in which the process was busy. */
  readonly busy: number;
}

const owners: readonly (readonly [RegExp, string])[] = [
  [/node_modules\/@connectrpc\//, "connect"],
  [/node_modules\/@grpc\//, "grpc-js"],
  [/node_modules\/(@aws-sdk|@aws-crypto|@smithy|@aws)\//, "AWS SDK"],
  [/node_modules\/@bufbuild\/(protovalidate|cel)/, "protovalidate"],
  [/node_modules\/@bufbuild\//, "protobuf"],
  [/node_modules\/(pino|sonic-boom|thread-stream|quick-format)/, "log"],
  [/node_modules\//, "other packages"],
  [/\/src\/rpc\/server\/grpc\//, "gRPC"],
  [/\/(src|activities|workflows|bench)\//, "ours"],
  [/^node:(internal\/)?http2/, "node http2"],
  [/^node:(internal\/)?_?http|^node:_http/, "node http1"],
  [/^node:/, "node"],
];

export async function readProfile(file: string): Promise<Profiled> {
  const profile = JSON.parse(await readFile(file, "utf8")) as Profiler.Profile;
  const times = selfTimes(profile);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])),
  );
  const self = new Map<string, number>();
  const onBehalf = new Map<string, number>();
  const functions = new Map<string, number>();
  let idle = 0;
  let all = 0;
  for (const [id, time] of times) {
    const node = nodes.get(id) as Profiler.ProfileNode;
    all += time;
    if (node.callFrame.functionName === "(idle)" || node.callFrame.url === "node:inspector") {
      idle += time;
      continue;
    }
    const own = ownerOf(node);
    add(self, own, time);
    add(functions, labelOf(node, own), time);
    const above: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      above.push(ownerOf(nodes.get(at) as Profiler.ProfileNode));
    }
    // Code that Node runs later, such as writing a request, has no caller on the stack.
    const caller = above.find((owner) => !isEngine(owner)) ?? above.find(isProtocol) ?? own;
    add(onBehalf, caller, time);
  }
  const busy = all - idle;
  return {
    self: shares(self, busy),
    onBehalf: shares(onBehalf, busy),
    functions: shares(functions, busy),
    busy: busy / all,
  };
}

function selfTimes({ samples = [], timeDeltas = [] }: Profiler.Profile): Map<number, number> {
  const times = new Map<number, number>();
  for (const [i, id] of samples.entries()) {
    times.set(id, (times.get(id) ?? 0) + Math.max(0, timeDeltas[i] ?? 0));
  }
  return times;
}

function ownerOf({ callFrame: { url, functionName } }: Profiler.ProfileNode): string {
  if (functionName === "(garbage collector)") return "garbage collector";
  if (url === "") return "native";
  return owners.find(([pattern]) => pattern.test(url))?.[1] ?? "native";
}

const isEngine = (owner: string): boolean => owner.startsWith("node") || owner === "native";

const isProtocol = (owner: string): boolean => owner.startsWith("node http");

const labelOf = ({ callFrame }: Profiler.ProfileNode, owner: string): string => {
  const place = callFrame.url.replace(/^.*\/(node_modules|src|bench)\//, "");
  return `${callFrame.functionName || "(anonymous)"} [${owner}] ${place}:${callFrame.lineNumber}`;
};

const add = (map: Map<string, number>, key: string, value: number) =>
  map.set(key, (map.get(key) ?? 0) + value);

const shares = (map: ReadonlyMap<string, number>, whole: number): Shares =>
  [...map].map(([key, value]) => [key, value / whole] as const).sort((a, b) => b[1] - a[1]);

/** Formats shares as `name 12.3%`, largest first. */
export const formatShares = (all: Shares, least = 0.005): string =>
  all
    .filter(([, share]) => share >= least)
    .map(([name, share]) => `${name} ${(100 * share).toFixed(1)}%`)
    .join(", ");
