/** Finds an order of concurrent requests in which the oracle gives their answers. */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Answer, Oracle, Request, Shown, TargetName } from "./reactions-oracle.ts";

export interface Answered {
  readonly request: Request;
  readonly answer: Answer;
}

interface GroupName {
  readonly target: TargetName;
  readonly kind: string;
}

/**
 * The remaining part of a request. A mark-all reads group by group, so that other requests come in
 * between. A request without a change reads several records, each at some time during the call.
 */
interface Remaining extends Answered {
  readonly reads?: "reaction" | "counts";
  readonly groups?: readonly GroupName[];
  readonly markedCount?: number;
}

/** The oracle after all requests, in an order that gives these answers and ends as `shown`. */
export function explain(
  before: Oracle,
  answered: readonly Answered[],
  now: number,
  show: (oracle: Oracle) => Shown,
  shown: Shown,
): Oracle | undefined {
  const deadEnds = new Set<string>();
  const search = (oracle: Oracle, left: readonly Remaining[]): Oracle | undefined => {
    if (left.length === 0) return isDeepStrictEqual(show(oracle), shown) ? oracle : undefined;
    // A hash, because whole states of a long search would fill the memory.
    const state = hash("sha1", JSON.stringify(left) + oracle.text());
    if (deadEnds.has(state)) return undefined;
    const next = left.flatMap((each, i) => {
      const rest = left.toSpliced(i, 1);
      return nextSteps(oracle, each, now).map(([after, more]): Step => [after, [...rest, ...more]]);
    });
    // A step that changes nothing does not exclude any other, so no other has to be tried.
    const free = next.find(([after]) => after === oracle);
    for (const [after, rest] of free ? [free] : next) {
      const found = search(after, rest);
      if (found) return found;
    }
    deadEnds.add(state);
    return undefined;
  };
  return search(before, answered);
}

/** The oracle after a part of a request, and the remaining parts. */
type Step = readonly [Oracle, readonly Remaining[]];

/** All parts of one request that may come next. */
function nextSteps(oracle: Oracle, left: Remaining, now: number): Step[] {
  const { request, answer } = left;
  if (request.op === "readAll") return readAllSteps(oracle, left, now);
  if ("changed" in answer && !answer.changed) {
    const parts = ["reaction", "counts"] as const;
    if (!left.reads) return [[oracle, parts.map((reads) => ({ ...left, reads }))]];
    const isRight =
      left.reads === "counts" ? hasRightCounts(oracle, left) : changesNothing(oracle, left);
    return isRight ? [[oracle, []]] : [];
  }
  const after = oracle.copy();
  if (!isDeepStrictEqual(after.apply(request, now), answer)) return [];
  const isUnchanged = "refused" in answer || ("kinds" in answer && answer.kinds.length === 0);
  return [[isUnchanged ? oracle : after, []]];
}

/** Whether a request changes nothing. */
function changesNothing(oracle: Oracle, { request }: Answered): boolean {
  switch (request.op) {
    case "react":
      return oracle.reacts(request.target, request.kind, request.userId);
    case "unreact":
      return !oracle.reacts(request.target, request.kind, request.userId);
    case "read": {
      const group = oracle.unreadOf(request.target, request.kind);
      return !group?.members.some(({ version }) => version <= request.version);
    }
    default:
      return false;
  }
}

/** Whether the counts of an answer are right. */
function hasRightCounts(oracle: Oracle, { request, answer }: Answered): boolean {
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

function readAllSteps(oracle: Oracle, left: Remaining, now: number): Step[] {
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
