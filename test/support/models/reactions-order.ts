/** Finds the order in which things that were asked together can have happened. */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Answer, Name, Oracle, Request, Shown } from "./reactions-oracle.ts";

export interface Told {
  readonly request: Request;
  readonly answer: Answer;
}

interface Group {
  readonly target: Name;
  readonly kind: string;
}

/**
 * What is left of a request. Reading all is one thing after another, and others come between. What
 * changes nothing looks at several records, each of them as it is at some time during the call.
 */
interface Left extends Told {
  readonly looks?: "at the one" | "at all";
  readonly groups?: readonly Group[];
  readonly markedCount?: number;
}

/** The oracle after all of it, in an order that gives these answers and ends as `shown`. */
export function explain(
  before: Oracle,
  told: readonly Told[],
  now: number,
  see: (oracle: Oracle) => Shown,
  shown: Shown,
): Oracle | undefined {
  const vain = new Set<string>();
  const search = (oracle: Oracle, left: readonly Left[]): Oracle | undefined => {
    if (left.length === 0) return isDeepStrictEqual(see(oracle), shown) ? oracle : undefined;
    // Whole states of a long search would fill the memory.
    const state = hash("sha1", JSON.stringify(left) + oracle.text());
    if (vain.has(state)) return undefined;
    const next = left.flatMap((each, i) => {
      const others = left.toSpliced(i, 1);
      return moves(oracle, each, now).map(([after, rest]): Move => [after, [...others, ...rest]]);
    });
    // What changes nothing stands in nobody's way.
    const free = next.find(([after]) => after === oracle);
    for (const [after, rest] of free ? [free] : next) {
      const found = search(after, rest);
      if (found) return found;
    }
    vain.add(state);
    return undefined;
  };
  return search(before, told);
}

/** The oracle after something, and what is then left. */
type Move = readonly [Oracle, readonly Left[]];

/** All that may come next of one request, with what is then left of it. */
function moves(oracle: Oracle, left: Left, now: number): Move[] {
  const { request, answer } = left;
  if (request.op === "readAll") return readAllMoves(oracle, left, now);
  if ("changed" in answer && !answer.changed) {
    const parts = ["at the one", "at all"] as const;
    if (!left.looks) return [[oracle, parts.map((looks) => ({ ...left, looks }))]];
    const isSo = left.looks === "at all" ? atAll(oracle, left) : atTheOne(oracle, left);
    return isSo ? [[oracle, []]] : [];
  }
  const after = oracle.copy();
  if (!isDeepStrictEqual(after.apply(request, now), answer)) return [];
  const isVain = "refused" in answer || ("kinds" in answer && answer.kinds.length === 0);
  return [[isVain ? oracle : after, []]];
}

/** Whether there is nothing to do for a request. */
function atTheOne(oracle: Oracle, { request }: Told): boolean {
  switch (request.op) {
    case "react":
      return oracle.reacts(request.target, request.kind, request.userId);
    case "unreact":
      return !oracle.reacts(request.target, request.kind, request.userId);
    case "read": {
      const pile = oracle.unreadOf(request.target, request.kind);
      return !pile?.members.some(({ version }) => version <= request.version);
    }
    default:
      return false;
  }
}

/** Whether the figures of an answer are right. */
function atAll(oracle: Oracle, { request, answer }: Told): boolean {
  if (request.op === "read") {
    const { badge } = oracle;
    return (
      request.version <= badge.version &&
      "badge" in answer &&
      isDeepStrictEqual(answer.badge, badge)
    );
  }
  if (!("reactionCount" in answer) || !("kind" in request)) return false;
  return oracle.count(request.target, request.kind) === answer.reactionCount;
}

function readAllMoves(oracle: Oracle, left: Left, now: number): Move[] {
  const { request, answer, groups, markedCount = 0 } = left;
  const { version } = request as Request & { op: "readAll" };
  if (!groups) {
    if (version > oracle.badge.version) {
      return "refused" in answer && answer.refused === "INVALID_REQUEST" ? [[oracle, []]] : [];
    }
    if ("refused" in answer) return [];
    const found = oracle.unread.filter(({ firstVersion }) => firstVersion <= version);
    const all = found.map(({ target, kind }) => ({ target, kind }));
    return [[oracle, [{ ...left, groups: all }]]];
  }
  if (groups.length === 0) {
    return isDeepStrictEqual({ markedCount, badge: oracle.badge }, answer) ? [[oracle, []]] : [];
  }
  return groups.map(({ target, kind }) => {
    const after = oracle.copy();
    const mark = after.apply({ op: "read", target, kind, version }, now);
    const more = "changed" in mark && mark.changed ? 1 : 0;
    const rest = groups.filter((group) => group.target !== target || group.kind !== kind);
    return [after, [{ ...left, groups: rest, markedCount: markedCount + more }]];
  });
}
