/**
 * Finds out from the transactions on the store which versions of an owner's inbox each request has
 * taken, when the servers that took them are gone.
 */
import { ok } from "node:assert";
import { type Item, num, pad, text } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import type { CapturedRequest } from "../../../tools/dynamo-proxy/proxy.ts";
import {
  type Answer,
  type GroupName,
  isEvents,
  type NotificationName,
  type Request,
} from "./reactions-requests.ts";
import type { Logged, RequestLog } from "./reactions-workload.ts";

/** A request, and what its client knows of it. */
export interface Sent extends Logged {
  /** The version of the inbox before the request was sent. */
  readonly after: number;
  /** The version after it was answered; infinite for one that was given up. */
  readonly before: number;
  readonly tries: number;
}

/** A transaction that took the versions after `after` up to `to`. */
interface Commit {
  readonly after: number;
  readonly to: number;
  /** The keys of the items that it wrote. */
  readonly keys: readonly string[];
  /** The reactions and events that joined, by version. */
  readonly joined: ReadonlyMap<number, Joined>;
  readonly counts: { readonly notificationCount: number; readonly actorCount: number };
}

interface Joined {
  readonly partition: string;
  readonly userId: string;
  readonly time: number;
}

interface Written {
  readonly Put?: { readonly Item: Item };
  readonly Delete?: { readonly Key: Item };
}

/** The transactions that changed the inbox of an owner, in their order. */
function commitsOf(captured: readonly CapturedRequest[], ownerId: string): Commit[] {
  const byVersion = new Map<number, { inbox: Item; written: readonly Written[] }>();
  for (const { operation, request, status, forwarded } of captured) {
    if (operation !== "TransactWriteItems" || status !== 200 || !forwarded) continue;
    const written = (request as { TransactItems: Written[] }).TransactItems;
    const inbox = written.find(({ Put }) => Put && keyOf(Put.Item) === `I#${ownerId} I`)?.Put?.Item;
    if (!inbox) continue;
    // A mute, and a transaction that is sent again under its token, have a version that was taken.
    const before = byVersion.get(num(inbox, "n"))?.written ?? [];
    byVersion.set(num(inbox, "n"), { inbox, written: [...before, ...written] });
  }
  const all = [...byVersion].sort(([a], [b]) => a - b);
  return all.map(([to, { inbox, written }], i) => {
    const after = all[i - 1]?.[0] ?? 0;
    return {
      after,
      to,
      keys: written.flatMap(({ Put, Delete }) =>
        [Put?.Item ?? Delete?.Key ?? []].flat().map(keyOf),
      ),
      joined: new Map(written.flatMap(({ Put }) => (Put ? joinedBy(Put.Item, after) : []))),
      counts: { notificationCount: num(inbox, "g"), actorCount: num(inbox, "p") },
    };
  });
}

const keyOf = (item: Item): string => `${text(item, "pk")} ${text(item, "sk")}`;

/** The reaction or event of an item, if it joined after a version. */
function joinedBy(item: Item, after: number): [number, Joined][] {
  const [partition, sort] = [text(item, "pk"), text(item, "sk")];
  const version = num(item, "n");
  if (version <= after) return [];
  if (partition.startsWith("R#")) {
    return [[version, { partition, userId: sort, time: num(item, "t") }]];
  }
  if (!partition.startsWith("V#")) return [];
  const userId = sort.slice(0, sort.lastIndexOf("#"));
  return [[version, { partition, userId, time: num(item, "w") }]];
}

/** The log of an owner's requests. Throws when one that has changed something took no version. */
export function logOf(
  { ownerId, targets }: Pick<RequestLog, "ownerId" | "targets">,
  sent: readonly Sent[],
  captured: readonly CapturedRequest[],
): RequestLog {
  const commits = commitsOf(captured, ownerId);
  const acknowledged = new Map<number, Logged>();
  const possible = new Map<number, Logged[]>();
  for (const each of sent.filter(mayHaveChanged)) {
    const { request, isMuted, time } = each;
    const answer = isChange(each.answer) ? each.answer : undefined;
    const logged = { request, isMuted, time, ...(answer && { answer }) };
    if (answer && "badge" in answer) {
      acknowledged.set(answer.badge.version, logged);
      continue;
    }
    const found = versionsOf(ownerId, each, commits);
    ok(!answer || found.length > 0, JSON.stringify(each));
    for (const { version, joined } of found) {
      if (joined) acknowledged.set(version, { ...logged, time: joined.time });
      else possible.set(version, [...(possible.get(version) ?? []), logged]);
    }
  }
  const between = { version: 0, requests: [] };
  const counts = new Map(commits.map(({ to, counts }) => [to, counts]));
  const describe = (version: number) => describeVersion(ownerId, version, sent, commits);
  return { ownerId, targets, acknowledged, possible, between, counts, describe };
}

/** Says what the commit of a version wrote, and which requests were under way that write it. */
function describeVersion(
  ownerId: string,
  version: number,
  sent: readonly Sent[],
  commits: readonly Commit[],
): string {
  const commit = commits.find(({ after, to }) => after < version && version <= to);
  if (!commit) return `no commit took ${version}`;
  const underWay = sent
    .filter(({ after, before }) => after < version && version <= before)
    .filter(({ request }) => mayBe(ownerId, request, commit));
  const lines = underWay.map((each) => `under way: ${JSON.stringify(each)}`);
  return [`the commit of ${version} wrote ${commit.keys.join(", ")}`, ...lines].join("\n");
}

/** What was tried once and changed nothing takes no version. */
const mayHaveChanged = ({ answer, tries }: Sent): boolean =>
  tries > 1 || !answer || isChange(answer);

/** Whether an answer says that this try has changed something. */
const isChange = (answer: Answer | undefined): boolean =>
  answer !== undefined &&
  (("changed" in answer && answer.changed) || ("replayed" in answer && !answer.replayed));

/** The versions that a request may have taken, and what joined then. */
function versionsOf(ownerId: string, sent: Sent, commits: readonly Commit[]) {
  const { request, after, before } = sent;
  return commits
    .filter((commit) => commit.to > after && commit.after < before)
    .filter((commit) => mayBe(ownerId, request, commit))
    .flatMap((commit) =>
      Array.from({ length: commit.to - commit.after }, (_, i) => commit.after + 1 + i)
        .filter((version) => version > after && version <= before)
        .map((version) => ({ version, joined: commit.joined.get(version) })),
    )
    .filter(({ joined }) => !joined || joins(request, joined));
}

/** Whether a commit has written what a request writes whenever it changes something. */
function mayBe(ownerId: string, request: Request, { after, to, keys }: Commit): boolean {
  switch (request.op) {
    case "react":
    case "unreact": {
      const { type, id } = request.target;
      const reactions = `R#${type}#${id}#`;
      return keys.some((key) => key.startsWith(reactions) && key.endsWith(` ${request.userId}`));
    }
    case "notify":
    case "retract":
      return keys.includes(`E#${ownerId} ${request.service}#${request.eventId}`);
    case "read":
    case "unread":
      return keys.includes(readKey(ownerId, request));
    case "dismiss": {
      if (keys.includes(readKey(ownerId, request))) return true;
      const name = nameIn(request);
      if (!keys.some((key) => key.startsWith(`I#${ownerId} U#${name}`))) return false;
      if (!isEvents(request.kind)) return keys.includes(`I#${ownerId} R#${name}`);
      // One version for one event that was reported or taken back leaves none for a dismissal.
      return to > after + 1 || !keys.some((key) => key.startsWith("E#"));
    }
    default:
      return false;
  }
}

/** The key of a notification while it is read. */
const readKey = (ownerId: string, name: NotificationName): string =>
  `H#${ownerId} ${nameIn(name)}#${pad(name.generation, 15)}`;

const nameIn = ({ kind, target: { type, id } }: GroupName): string => `${kind}#${type}#${id}`;

/** Whether a reaction or event is the one of a request. */
function joins(request: Request, { partition, userId }: Joined): boolean {
  if (request.op !== "react" && request.op !== "notify") return false;
  const { type, id } = request.target;
  return userId === request.userId && partition.includes(`#${type}#${id}#${request.kind}`);
}
