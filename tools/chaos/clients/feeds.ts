/** Clients that react, report events and mark notifications as read. */

import { inboxOf } from "../../../src/feed/use-cases/notifications/inbox.ts";
import { listNotifications } from "../../../src/feed/use-cases/notifications/queries.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import {
  eventsOf,
  type RequestOf,
  type TargetName,
} from "../../../test/support/models/reactions-requests.ts";
import { answerByRpc } from "../../../test/support/models/reactions-rpc.ts";
import type { Calls } from "../calls.ts";
import { type Attempt, isOpen, type ReactionRecord } from "../record.ts";

type Reaction = RequestOf<"react" | "unreact">;
type Event = RequestOf<"notify" | "retract">;
type Read = RequestOf<"read">;
type Sendable = Reaction | Event | Read | RequestOf<"register">;

const pauseMs = 400;
const usersEach = 6;
const targetsEach = 3;
const kinds = ["like", "love"];
const comments = eventsOf("comment");

export const ownerIds = ["owner-0", "owner-1", "owner-2", "owner-3"] as const;

const targetsOf = (ownerId: string): TargetName[] =>
  Array.from({ length: targetsEach }, (_, i) => ({ type: "post", id: `${ownerId}-${i}` }));

/** Registers the targets of all owners. */
export async function registerTargets(calls: Calls): Promise<void> {
  for (const ownerId of ownerIds) {
    for (const target of targetsOf(ownerId)) {
      const answer = await send(calls, [], ownerId, { op: "register", target, title: "" });
      if (!answer) throw new Error(`the target ${target.id} could not be registered`);
    }
  }
}

/**
 * Reacts and unreacts. A person of whom a call had no answer does nothing any more,
 * because a server that stood still may make this call later: another one comes instead.
 */
export async function react(calls: Calls, name: string, records: ReactionRecord<Reaction>[]) {
  const { random, over } = calls;
  const people = Array.from({ length: usersEach }, (_, i) => `${name}-${i}`);
  for (let count = usersEach; !over.aborted; count++) {
    const at = Math.floor(random() * usersEach);
    const [ownerId, target] = oneTarget(calls);
    const kind = kinds[random() < 0.8 ? 0 : 1] as string;
    const userId = people[at] as string;
    const attempts: Attempt[] = [];
    const request = reactionOf(calls, { target, kind, userId });
    records.push({ ownerId, request, attempts });
    await send(calls, attempts, ownerId, request);
    if (attempts.some(isOpen)) people[at] = `${name}-${count}`;
    await calls.pause(pauseMs);
  }
}

function reactionOf({ random }: Calls, of: Omit<RequestOf<"unreact">, "op">): Reaction {
  if (random() < 0.4) return { op: "unreact", ...of };
  const rules = { coolDownMs: random() < 0.5 ? 0 : undefined, regroupAfterMs: undefined };
  const plain = { exclusive: false, silent: false, ...rules };
  return { op: "react", ...of, displayName: `${of.userId} of the fans`, ...plain };
}

/** Reports events, and retracts some of them. */
export async function report(calls: Calls, name: string, records: ReactionRecord<Event>[]) {
  const { random, over } = calls;
  const reported: { ownerId: string; event: RequestOf<"retract"> }[] = [];
  for (let i = 0; !over.aborted; i++) {
    const [ownerId, target] = oneTarget(calls);
    const event = { service: "blog", eventId: `${name}-${i}`, target } as const;
    const userId = `${name}-${Math.floor(random() * usersEach)}`;
    const content = { userId, displayName: userId, link: "", data: "", regroupAfterMs: undefined };
    const back = random() < 0.4 ? reported.pop() : undefined;
    const notify = { op: "notify", ...event, kind: comments, ...content } as const;
    const attempts: Attempt[] = [];
    const record = { ownerId: back?.ownerId ?? ownerId, request: back?.event ?? notify, attempts };
    records.push(record);
    const answer = await send(calls, attempts, record.ownerId, record.request);
    if (!back && answer) reported.push({ ownerId, event: { op: "retract", ...event } });
    await calls.pause(pauseMs);
  }
}

/** Marks notifications of all owners as read, up to versions that are older than the newest. */
export async function read(
  calls: Calls,
  deps: Pick<Deps, "clock" | "reader">,
  records: ReactionRecord<Read>[],
): Promise<void> {
  const { random, over } = calls;
  while (!over.aborted) {
    const ownerId = ownerIds[Math.floor(random() * ownerIds.length)] as string;
    const { version } = await inboxOf(deps, ownerId);
    const page = { size: 10, cursor: undefined };
    const filter = { ownerId, state: "UNREAD", kinds: [] } as const;
    const { items } = await listNotifications(deps, filter, page);
    for (const { id } of items.filter(() => random() < 0.3)) {
      const { target, kind, generation } = id;
      const upTo = Math.max(1, version - Math.floor(random() * 10));
      const request: Read = { op: "read", target, kind, generation, version: upTo };
      const attempts: Attempt[] = [];
      records.push({ ownerId, request, attempts });
      await send(calls, attempts, ownerId, request);
    }
    await calls.pause(4 * pauseMs);
  }
}

/** One of the targets; some are chosen more often. */
function oneTarget({ random }: Calls): [string, TargetName] {
  const ownerId = ownerIds[Math.floor(random() * ownerIds.length)] as string;
  const targets = targetsOf(ownerId);
  return [ownerId, targets[random() < 0.5 ? 0 : Math.floor(random() * targetsEach)] as TargetName];
}

const send = (calls: Calls, attempts: Attempt[], ownerId: string, request: Sendable) =>
  calls.send<unknown>(attempts, (clients, clientsOf) =>
    answerByRpc({ clientsOf, ...clients }, ownerId, request),
  );
