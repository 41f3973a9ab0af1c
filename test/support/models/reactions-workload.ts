/** Sends requests about reactions through faults, and puts them in the order of their versions. */
import { expect } from "vitest";
import type { Deps } from "../../../src/app/ports/deps.ts";
import type { TransactionRequest } from "../../../src/app/ports/engine.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import type { Inbox } from "../../../src/domain/inbox.ts";
import { keptMs } from "./reactions-model.ts";
import { Oracle } from "./reactions-oracle.ts";
import type { Answer, Request, TargetName } from "./reactions-requests.ts";
import { answerTo } from "./reactions-use-cases.ts";

/** A request, and whether the owner had muted its person when it was sent. */
interface Logged {
  readonly request: Request;
  readonly isMuted: boolean;
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
}

/** The largest number of versions that one request takes: a delete with a line of each kind. */
const mostVersions = 3;

/** Dependencies that record the version that a change took, and the versions that it tried. */
function recordVersions(deps: Deps) {
  const recorded = { taken: 0, tried: [] as number[] };
  const versionOf = (result: unknown) => {
    const { changed = true, inbox } = Object(result) as { changed?: boolean; inbox?: Inbox };
    return (changed && inbox?.version) || 0;
  };
  const transact = async <R>(request: TransactionRequest<R>): Promise<R> => {
    const result = await deps.engine.transact({
      ...request,
      decide(tx, now) {
        const decided = request.decide(tx, now);
        recorded.tried.push(versionOf(decided));
        return decided;
      },
    });
    recorded.taken = versionOf(result);
    return result;
  };
  return { recorded, deps: { ...deps, engine: { transact } } };
}

/** Sends a request until it is answered, as clients do, and logs the version that it took. */
export async function sendUntilAnswered(
  deps: Deps,
  log: RequestLog,
  request: Request,
  isMuted = false,
): Promise<Answer> {
  // The lists themselves, because a call that was given up may still be decided and committed.
  const ambiguous: (readonly number[])[] = [];
  for (;;) {
    const { recorded, deps: recording } = recordVersions(deps);
    try {
      const answer = await answerTo(recording, log.ownerId, request);
      const { taken } = recorded;
      if (taken > 0) {
        expect(log.acknowledged.get(taken), `${taken} of ${log.ownerId}`).toBeUndefined();
        log.acknowledged.set(taken, { request, isMuted });
      } else {
        for (const version of ambiguous.flat()) {
          const all = log.possible.get(version) ?? [];
          log.possible.set(version, [...all, { request, isMuted }]);
        }
      }
      return answer;
    } catch (error) {
      if (!(error instanceof DomainError) || !error.retryable) throw error;
      ambiguous.push(recorded.tried);
    }
  }
}

/** Sends a request until it is answered, without a log. */
export async function untilAnswered(
  deps: Deps,
  ownerId: string,
  request: Request,
): Promise<Answer> {
  for (;;) {
    try {
      return await answerTo(deps, ownerId, request);
    } catch (error) {
      if (!(error instanceof DomainError) || !error.retryable) throw error;
    }
  }
}

/** Who has a record of each version, and on which target. */
export type StoredReactions = ReadonlyMap<
  number,
  { readonly userId: string; readonly target: TargetName }
>;

/**
 * The oracle after all requests of an owner, in the order of their versions up to the last. Tries
 * each possible request that fits, because only later versions and the records that are left show
 * which of two took a version.
 */
export function applyAll(log: RequestLog, last: number, records: StoredReactions): Oracle {
  const { ownerId, targets, between, acknowledged } = log;
  expect(Math.max(0, ...acknowledged.keys())).toBeLessThanOrEqual(last);
  const first = new Oracle({ ownerId, keptMs });
  for (const target of targets) first.apply({ op: "register", target, title: "" }, 0);
  const open = [first];
  let furthest = 0;
  for (let oracle = open.pop(); oracle; oracle = open.pop()) {
    const { version } = oracle.badge;
    furthest = Math.max(furthest, version);
    if (version === between.version) {
      for (const request of between.requests) oracle.apply(request, 0);
    }
    if (version === last) return oracle;
    open.push(...nextOf(log, oracle, records).reverse());
  }
  throw new Error(`no request follows version ${furthest} of ${ownerId}`);
}

/** The oracle after each request that may be next, acknowledged ones first. */
function nextOf(
  { acknowledged, possible }: RequestLog,
  oracle: Oracle,
  records: StoredReactions,
): Oracle[] {
  const { version } = oracle.badge;
  const next = Array.from({ length: mostVersions }, (_, i) => version + 1 + i);
  const known = acknowledged.get(version + 1);
  const logged = [
    ...next.map((at) => [at, acknowledged.get(at)] as const),
    ...(known
      ? []
      : next.flatMap((at) =>
          (possible.get(at) ?? [])
            .filter(({ request }) => mayHaveLeft(records.get(at), request))
            .map((each) => [at, each] as const),
        )),
  ];
  return logged.flatMap(([at, each]) => {
    const after = each && applied(oracle, each);
    return after?.badge.version === at ? [after] : [];
  });
}

/** Whether a request may have taken the version of this record. */
function mayHaveLeft(record: ReturnType<StoredReactions["get"]>, request: Request): boolean {
  if (!record) return true;
  const { target, userId } = request as { readonly target?: TargetName; readonly userId?: string };
  return userId === record.userId && target?.id === record.target.id;
}

function applied(oracle: Oracle, { request, isMuted }: Logged): Oracle {
  const after = oracle.copy();
  if ("userId" in request) {
    after.apply({ op: "mutePerson", userId: request.userId, muted: isMuted }, 0);
  }
  after.apply(request, 0);
  return after;
}
