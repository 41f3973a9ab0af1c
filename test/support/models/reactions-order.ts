/** Finds the orders of concurrent requests in which the oracle gives their answers. */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { distinct } from "./reactions-candidates.ts";
import type { Oracle } from "./reactions-oracle.ts";
import {
  type Answer,
  type NotificationName,
  nameText,
  type Request,
  type RequestOf,
} from "./reactions-requests.ts";
import type { Shown } from "./reactions-shown.ts";
import type { Member } from "./reactions-state.ts";

export interface Answered {
  readonly request: Request;
  readonly answer: Answer;
}

/**
 * The remaining part of a request. A mark-all lists the notifications and then reads one by one, so
 * that other requests come in between. A request without a change reads several records, each at
 * some time during the call.
 */
interface Remaining extends Answered {
  readonly reads?: "reaction" | "counts";
  /** Up to which version a mark-all reads these notifications. */
  readonly upTo?: number;
  readonly names?: readonly (NotificationName & { readonly isClosed: boolean })[];
  readonly markedCount?: number;
}

/** The oracles after all requests, in each order that gives these answers and ends as `shown`. */
export function explain(
  before: Oracle,
  answered: readonly Answered[],
  now: number,
  show: (oracle: Oracle) => Shown,
  shown: Shown,
): Oracle[] {
  const found: Oracle[] = [];
  const searched = new Set<string>();
  const search = (oracle: Oracle, left: readonly Remaining[]): void => {
    // A hash, because whole states of a long search would fill the memory.
    const state = hash("sha1", JSON.stringify(left) + oracle.text());
    if (searched.has(state)) return;
    searched.add(state);
    if (left.length === 0 && isDeepStrictEqual(show(oracle), shown)) found.push(oracle);
    const next = left.flatMap((each, i) => {
      const rest = left.toSpliced(i, 1);
      return nextSteps(oracle, each, now).map(([after, more]): Step => [after, [...rest, ...more]]);
    });
    // A step that changes nothing does not exclude any other, so no other has to be tried.
    const free = next.find(([after]) => after === oracle);
    for (const [after, rest] of free ? [free] : next) search(after, rest);
  };
  search(before, answered);
  return distinct(found);
}

/** The oracle after a part of a request, and the remaining parts. */
type Step = readonly [Oracle, readonly Remaining[]];

/** All parts of one request that may come next. */
function nextSteps(oracle: Oracle, left: Remaining, now: number): Step[] {
  const { request, answer } = left;
  if (request.op === "readAll") return readAllSteps(oracle, left, request, now);
  if (hasParts(request) && "changed" in answer && !answer.changed) {
    const parts = ["reaction", "counts"] as const;
    if (!left.reads) return [[oracle, parts.map((reads) => ({ ...left, reads }))]];
    const isRight =
      left.reads === "counts" ? hasRightCounts(oracle, left) : changesNothing(oracle, request);
    return isRight ? [[oracle, []]] : [];
  }
  const after = oracle.copy();
  if (!isDeepStrictEqual(after.apply(request, now), answer)) return [];
  return [[changesNothingByAnswer(answer) ? oracle : after, []]];
}

/** Whether an answer says that the request has changed nothing, at whatever moment it came. */
function changesNothingByAnswer(answer: Answer): boolean {
  if ("changed" in answer) return !answer.changed;
  if ("replayed" in answer) return answer.replayed;
  return "refused" in answer || ("kinds" in answer && answer.kinds.length === 0);
}

/** Requests that read several records when they change nothing. */
type InParts = RequestOf<"react" | "unreact" | "read">;

const hasParts = (request: Request): request is InParts =>
  request.op === "react" || request.op === "unreact" || request.op === "read";

/** Whether a request changes nothing. */
function changesNothing(oracle: Oracle, request: InParts): boolean {
  if (request.op === "read") {
    const unread = oracle.unread.find((each) => nameText(each) === nameText(request));
    const isRead = ({ version }: Member) => version <= request.version;
    return unread?.again ? !unread.members.every(isRead) : !unread?.members.some(isRead);
  }
  const kinds = oracle.kindsOf(request.target, request.userId);
  const reacts = kinds.includes(request.kind);
  if (request.op === "unreact") return !reacts;
  const isSame = reacts && oracle.reactsAs(request, request.userId, request.displayName);
  return isSame && !(request.exclusive && kinds.length > 1);
}

/** Whether the counts of an answer are right. */
function hasRightCounts(oracle: Oracle, { request, answer }: Answered): boolean {
  if ("badge" in answer) return isDeepStrictEqual(answer.badge, oracle.badge);
  if (!("reactionCount" in answer) || !hasParts(request)) return false;
  return oracle.count(request) === answer.reactionCount;
}

function readAllSteps(
  oracle: Oracle,
  left: Remaining,
  request: RequestOf<"readAll">,
  now: number,
): Step[] {
  const { answer, upTo, names, markedCount = 0 } = left;
  if (!names || upTo === undefined) {
    const last = oracle.badge.version;
    const version = Math.min(request.version, last);
    const found = oracle.unread.filter(({ members }) => (members[0]?.version ?? 0) <= version);
    const all = found.map(({ target, kind, generation, state }) => ({
      target,
      kind,
      generation,
      isClosed: state === "closed",
    }));
    // A version beyond the inbox is clamped: a later moment gives other notifications.
    const next = request.version > last ? oracle.copy() : oracle;
    return [[next, [{ ...left, upTo: version, names: all }]]];
  }
  if (names.length === 0) {
    return isDeepStrictEqual({ markedCount, badge: oracle.badge }, answer) ? [[oracle, []]] : [];
  }
  return names.map((name) => {
    const after = oracle.copy();
    const { isClosed, ...own } = name;
    const marks = ({ generation }: { readonly generation: number }) => {
      const answer = after.apply({ op: "read", ...own, generation, version: upTo }, now);
      return "changed" in answer && answer.changed;
    };
    // The mark reads whichever notification takes in new members by then, or the closed one.
    const open = isClosed ? undefined : oracle.openOf(own);
    const more = (open && marks(open)) || marks(own) ? 1 : 0;
    const rest = names.filter((each) => each !== name);
    return [after, [{ ...left, names: rest, markedCount: markedCount + more }]];
  });
}
