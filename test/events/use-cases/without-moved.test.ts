/**
 * Random histories of an owner's notifications: whoever applies their events as the contract says
 * has what the store has at the end, in whatever order the parts of transactions come.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { toEvent } from "../../../src/events/published/to-event.ts";
import { eventsOf } from "../../../src/events/rules/events-of.ts";
import { withoutMoved } from "../../../src/events/use-cases/without-moved.ts";
import { notifiedEventRef } from "../../../src/feed/ports/records.ts";
import { encodeId } from "../../../src/feed/rpc/notifications/ids.ts";
import { eventKind } from "../../../src/feed/rules/kinds.ts";
import type { Group, ReadGroup, UnreadGroup } from "../../../src/feed/rules/unread-group.ts";
import { versionOf } from "../../../src/feed/rules/unread-group.ts";
import {
  dismissNotification,
  markNotificationRead,
  markNotificationUnread,
} from "../../../src/feed/use-cases/notifications/commands.ts";
import { notify } from "../../../src/feed/use-cases/notifications/notify.ts";
import { retractEvent } from "../../../src/feed/use-cases/notifications/retract.ts";
import { react, unreact } from "../../../src/feed/use-cases/reactions/commands.ts";
import { deleteTarget, registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { recordingChanges, type Transaction } from "../../support/fixtures/recorded-changes.ts";
import { randomFrom } from "../../support/models/random.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const ownerId = "owner";
const call = { caller: asService("blog"), deadline: undefined };
const users = ["ann", "ben", "cho", "dan", "eve", "fay", "gus"];
const targets = ["1", "2"].map((id) => ({ type: "post", id }));

const ops = ["react", "unreact", "notify", "retract", "read", "dismiss", "unread"] as const;

/** A request by numbers, which choose among what there is. */
const step = fc.record({
  op: fc.constantFrom(...ops, "react", "notify", "read"),
  target: fc.nat(targets.length - 1),
  user: fc.nat(users.length - 1),
  which: fc.nat(20),
  /** Whether the next step is sent at the same time. */
  together: fc.boolean(),
  regroup: fc.nat(4).map((n) => n === 0),
});

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const groupsOf = async ({ reader }: Pick<Deps, "reader">) => ({
  unread: await allItems<UnreadGroup>((page) => reader.unreadGroups(ownerId, false, page)),
  read: await allItems<ReadGroup>((page) => reader.readGroups(ownerId, 0, page)),
});

/** The group that a number chooses, and a version of some of its members. */
function chosen(groups: readonly Group[], which: number) {
  const group = groups[which % Math.max(1, groups.length)];
  if (!group) return undefined;
  const { target, kind, generation, firstMembers, latestMembers } = group;
  const versions = [...firstMembers, ...latestMembers].map(({ version }) => version);
  const version = versions[which % versions.length] ?? 0;
  return { ownerId, target, kind, generation, version, ...call };
}

async function send(deps: Deps, { op, which, regroup, ...by }: Step, number: number) {
  const target = targets[by.target] as (typeof targets)[number];
  const userId = users[by.user] as string;
  const regroupAfterMs = regroup ? 0 : undefined;
  const { unread, read } = await groupsOf(deps);
  switch (op) {
    case "react":
      return react(deps, {
        target,
        kind: "like",
        userId,
        displayName: userId,
        regroupAfterMs,
        ...call,
      });
    case "unreact":
      return unreact(deps, { target, kind: "like", userId, ...call });
    case "notify": {
      const eventId = `e-${number}`;
      const actor = { userId, displayName: userId };
      return notify(deps, { eventId, target, kind: "comment", actor, regroupAfterMs, ...call });
    }
    case "retract":
      return retract(deps, `e-${which}`, [...unread, ...read]);
    case "read": {
      const group = chosen(unread, which);
      return group && markNotificationRead(deps, group);
    }
    case "dismiss": {
      const group = chosen([...unread, ...read], which);
      return group && dismissNotification(deps, group);
    }
    case "unread": {
      const group = chosen(read, which);
      return group && markNotificationUnread(deps, group);
    }
  }
}

/** Retracts an event that is in a group: another one is looked for twice, which takes a second. */
async function retract(deps: Deps, eventId: string, groups: readonly Group[]) {
  const found = await deps.reader.get(notifiedEventRef(ownerId, "blog", eventId));
  if (!found) return;
  const { version, target } = found.value;
  const isIn = ({ kind, generation, target: { id }, ...group }: Group) =>
    kind === eventKind("comment") &&
    id === target.id &&
    generation <= version &&
    version <= versionOf({ kind, generation, target, ...group });
  if (groups.some(isIn)) await retractEvent(deps, { eventId, target, ...call });
}

/** What a consumer keeps of a notification. */
interface Kept {
  readonly recordVersion: bigint;
  readonly line: string | undefined;
}

const shown = (group: Group, readTime?: number) =>
  lineOf(
    encodeId({ ownerId, ...group }),
    BigInt(group.actorCount),
    group.latestMembers[0]?.userId ?? "",
    readTime,
  );

const lineOf = (id: string, actors: bigint, latest: string, readTime: number | undefined) =>
  `${id} ${actors} ${latest} ${readTime ?? "unread"}`;

/** The lines that a consumer has after these transactions, whose parts come in another order. */
async function consumed(
  deps: Deps,
  transactions: readonly Transaction[],
  random: () => number,
  kept: Map<string, Kept>,
) {
  const shuffled = transactions.flatMap((changes) => changes.toSorted(() => random() - 0.5));
  // The history is another partition, which may be read earlier or later.
  const isRead = ({ before, after }: Transaction[number]) =>
    [...before, ...after].some(({ kind }) => kind === "readGroup");
  const ordered =
    random() < 0.5 ? shuffled : shuffled.toSorted((a, b) => Number(isRead(a)) - Number(isRead(b)));
  for (const change of ordered) {
    const events = await withoutMoved(
      deps,
      eventsOf(change, () => undefined),
    );
    for (const { data } of events.map((event) => toEvent(event, "/meguri/i"))) {
      if (data.case !== "notificationChanged") continue;
      const { notificationId, recordVersion, actorCount, latestUserId, readTime } = data.value;
      const known = kept.get(notificationId);
      const isOld = known && known.recordVersion > recordVersion;
      const isUndone = known?.recordVersion === recordVersion && known.line === undefined;
      if (isOld || isUndone) continue;
      const ms = readTime && Number(readTime.seconds) * 1_000 + readTime.nanos / 1_000_000;
      const line = lineOf(notificationId, actorCount, latestUserId, ms);
      kept.set(notificationId, { recordVersion, line: actorCount === 0n ? undefined : line });
    }
  }
}

async function play(steps: readonly Step[], isLive: boolean, random: () => number) {
  const { deps: plain, store, clock } = memoryDeps({ random: () => 0 });
  let transactions: Transaction[] = [];
  const recorded = recordingChanges(
    store.itemStore,
    () => clock.time,
    (changes) => {
      transactions.push(changes);
    },
  );
  const deps = { ...plain, engine: new CommitEngine({ store: recorded, clock, random: () => 0 }) };
  for (const target of targets) {
    await registerTarget(deps, { target, ownerId, title: "", link: "", ...call });
  }
  const kept = new Map<string, Kept>();
  let sent: Promise<unknown>[] = [];
  for (const [i, each] of steps.entries()) {
    clock.time += 1_000;
    sent.push(
      send(deps, each, i).catch((err: unknown) => {
        if (!(err instanceof DomainError)) throw err;
      }),
    );
    if (each.together) continue;
    await Promise.all(sent);
    sent = [];
    if (!isLive) continue;
    await consumed(plain, transactions, random, kept);
    transactions = [];
    await compare(deps, kept);
  }
  await Promise.all(sent);
  await deleteTarget(deps, { target: targets[1] as (typeof targets)[number], ...call });
  await consumed(plain, transactions, random, kept);
  await compare(deps, kept);
}

/** Compares what a consumer keeps with the lists of the store. */
async function compare(deps: Deps, kept: ReadonlyMap<string, Kept>): Promise<void> {
  const { unread, read } = await groupsOf(deps);
  const stored = [
    ...unread.map((group) => shown(group)),
    ...read.map((group) => shown(group, group.readTime)),
  ];
  expect([...kept.values()].flatMap(({ line }) => line ?? []).sort()).toEqual(stored.sort());
}

test.each([
  ["at once", true],
  ["much later", false],
])("events that are made %s lead to what the store has", async (_, isLive) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.noShrink(fc.nat()), (steps, seed) =>
      play(steps, isLive, randomFrom(seed)),
    ),
    { numRuns: 60 },
  );
});
