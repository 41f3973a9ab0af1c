/** Sends requests about reactions through faults, and puts them in the order of their versions. */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import type { Inbox } from "../../../src/feed/rules/inbox.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import type { TransactionRequest } from "../../../src/platform/ports/engine.ts";
import { patiently } from "../fixtures/waiting.ts";
import { keptMs } from "./reactions-model.ts";
import { Oracle } from "./reactions-oracle.ts";
import type { Answer, Badge, Request, TargetName } from "./reactions-requests.ts";
import { answerTo } from "./reactions-use-cases.ts";

/** A request that may have been done, when, and whether the owner had muted its person by then. */
export interface Logged {
  readonly request: Request;
  readonly isMuted: boolean;
  /** The time of the decision, by the service's clock. */
  readonly time: number;
  /** The answer, if it says what this request has changed. */
  readonly answer?: Answer;
}

/** The requests of one owner by the last version of the inbox that they took. */
export interface RequestLog {
  readonly ownerId: string;
  readonly targets: readonly TargetName[];
  readonly acknowledged: Map<number, Logged>;
  /**
   * Requests with an ambiguous result that may have been done, by each version they had tried. Two
   * of them may have tried the same version, which one of them took.
   */
  readonly possible: Map<number, Logged[]>;
  /** Requests that take no version, sent when no others but mark-reads were, at this version. */
  readonly between: { readonly version: number; readonly requests: Request[] };
  /** The numbers of unread notifications and of their actors at some versions. */
  readonly counts?: ReadonlyMap<number, Counts>;
  /** Says what is known of a version that no request explains. */
  readonly describe?: (version: number) => string;
}

type Counts = Pick<Badge, "notificationCount" | "actorCount">;

/** How many versions most requests take at most: an exclusive reaction two for two kinds. */
const mostVersions = 3;

/** How many versions a deletion takes at most: one for each unread notification of the target. */
const mostNotifications = 40;

/** The last version of the inbox that a decision takes, 0 if it changes nothing, and when. */
interface Change {
  readonly version: number;
  readonly time: number;
}

/** Dependencies that record what each decision of a request changes. */
function recordChanges(deps: Deps) {
  const changes: Change[] = [];
  const transact = <R>(request: TransactionRequest<R>): Promise<R> =>
    deps.engine.transact({
      ...request,
      decide(tx, now) {
        const change = { version: 0, time: now.wall };
        changes.push(change);
        const before = (tx.get(request.key) as Inbox | undefined)?.version ?? 0;
        const decided = request.decide(tx, now);
        const { inbox } = Object(decided) as { inbox?: Inbox };
        if (inbox && inbox.version > before) change.version = inbox.version;
        return decided;
      },
    });
  return { changes, deps: { ...deps, engine: { transact } } };
}

/** Sends a request until it is answered, as clients do, and logs the version that it took. */
export function sendUntilAnswered(
  deps: Deps,
  log: RequestLog,
  request: Request,
  isMuted = false,
): Promise<Answer> {
  // The lists themselves, because a call that was given up may still be decided and committed.
  const tries: (readonly Change[])[] = [];
  return patiently(async () => {
    const { changes, deps: recording } = recordChanges(deps);
    const earlier = [...tries];
    tries.push(changes);
    const answer = await answerTo(recording, log.ownerId, request);
    // The last decision is the one that was committed.
    const { version = 0, time = 0 } = changes.at(-1) ?? {};
    if (version > 0) {
      expect(log.acknowledged.get(version), `${version} of ${log.ownerId}`).toBeUndefined();
      log.acknowledged.set(version, { request, isMuted, time, answer });
    } else {
      // Only the last decision of a try may be committed: the ones before it have failed. And where
      // two tries wanted one version, the first of them did not commit before the second decided.
      const last = earlier.toReversed().flatMap((each) => each.at(-1) ?? []);
      for (const { version, time } of last) {
        const all = log.possible.get(version) ?? [];
        log.possible.set(version, [...all, { request, isMuted, time }]);
      }
    }
    return answer;
  });
}

/** Who has a record of each version, and on which target. */
export type StoredReactions = ReadonlyMap<
  number,
  { readonly userId: string; readonly target: TargetName }
>;

/** An order of some requests: the oracle after them, and which they are. */
interface Order {
  readonly oracle: Oracle;
  readonly done: ReadonlySet<Request>;
}

/**
 * The oracle after all requests of an owner, in the order of their versions up to the last. Tries
 * each possible request that fits, because only later versions and the records that are left show
 * which of two took a version. Each is done at most once, and each once that was answered so: an
 * ambiguous dismissal may fit where the only event of a notification was taken back.
 */
export function applyAll(log: RequestLog, last: number, records: StoredReactions): Oracle {
  const { ownerId, targets, between, acknowledged, possible } = log;
  expect(Math.max(0, ...acknowledged.keys())).toBeLessThanOrEqual(last);
  const answered = [...possible.values()].flat().filter(({ answer }) => answer);
  const first = new Oracle({ ownerId, keptMs });
  for (const target of targets) first.apply({ op: "register", target, title: "" }, 0);
  const open: Order[] = [{ oracle: first, done: new Set() }];
  let furthest = first;
  let undone: readonly Logged[] = [];
  for (let order = open.pop(); order; order = open.pop()) {
    const { oracle, done } = order;
    const { version } = oracle.badge;
    if (version > furthest.badge.version) furthest = oracle;
    if (version === between.version) {
      for (const request of between.requests) oracle.apply(request, 0);
    }
    if (version === last) {
      undone = answered.filter(({ request }) => !done.has(request));
      if (undone.length === 0) return oracle;
    }
    open.push(...nextOf(log, order, records).reverse());
  }
  if (undone.length > 0) throw new Error(`no order of ${ownerId} has ${JSON.stringify(undone)}`);
  throw new Error(describeNext(log, furthest));
}

/** Says what each request that may have taken one of the next versions does by the oracle. */
function describeNext(
  { ownerId, acknowledged, possible, counts, describe }: RequestLog,
  oracle: Oracle,
): string {
  const { version } = oracle.badge;
  const next = Array.from({ length: mostVersions }, (_, i) => version + 1 + i);
  const lines = next.flatMap((at) => {
    const known = acknowledged.get(at);
    const all = [
      ...(known ? [{ how: "acknowledged", logged: known }] : []),
      ...(possible.get(at) ?? []).map((logged) => ({ how: "possible", logged })),
    ];
    return all.map(({ how, logged }) => {
      const { after, expected } = applied(oracle, logged);
      const byOracle = JSON.stringify({ answer: expected, badge: after.badge });
      const stored = JSON.stringify(counts?.get(at));
      return `${at} ${how}: ${JSON.stringify(logged)}, by the oracle ${byOracle}, stored ${stored}`;
    });
  });
  const text = `no request follows version ${version} of ${ownerId}`;
  return [text, ...lines, describe?.(version + 1) ?? ""].join("\n");
}

/** The orders with each request that may be next, those that certainly were done first. */
function nextOf(
  { acknowledged, possible, counts }: RequestLog,
  { oracle, done }: Order,
  records: StoredReactions,
): Order[] {
  const { version } = oracle.badge;
  const known = acknowledged.get(version + 1);
  const next = Array.from({ length: mostNotifications }, (_, i) => version + 1 + i);
  const logged = [
    ...next.flatMap((at) => {
      const each = acknowledged.get(at);
      return each ? [{ at, ...each }] : [];
    }),
    ...(known
      ? []
      : next.flatMap((at) =>
          (possible.get(at) ?? [])
            .filter(({ request }) => mayHaveLeft(records.get(at), request))
            .toSorted((a, b) => Number(!a.answer) - Number(!b.answer))
            .map((each) => ({ at, ...each })),
        )),
  ];
  return logged
    .filter(({ request }) => !done.has(request))
    .filter(({ at, request }) => request.op === "delete" || at <= version + mostVersions)
    .flatMap(({ at, ...each }) => {
      const { after, expected } = applied(oracle, each);
      const isAnswer = !each.answer || isDeepStrictEqual(each.answer, expected);
      const isNext = after.badge.version === at && hasCounts(after, counts?.get(at));
      const doneBy = () => new Set(done).add(each.request);
      return isAnswer && isNext ? [{ oracle: after, done: doneBy() }] : [];
    });
}

const hasCounts = ({ badge }: Oracle, counts: Counts | undefined): boolean =>
  !counts ||
  (badge.notificationCount === counts.notificationCount && badge.actorCount === counts.actorCount);

/** Whether a request may have taken the version of this record. */
function mayHaveLeft(record: ReturnType<StoredReactions["get"]>, request: Request): boolean {
  if (!record) return true;
  const { target, userId } = request as { readonly target?: TargetName; readonly userId?: string };
  return userId === record.userId && target?.id === record.target.id;
}

/** The oracle after a request, and the answer that it gives. */
function applied(oracle: Oracle, { request, isMuted, time }: Logged) {
  const after = oracle.copy();
  if ("userId" in request) {
    after.apply({ op: "mutePerson", userId: request.userId, muted: isMuted }, time);
  }
  const expected = after.apply(request, time);
  return { after, expected };
}
