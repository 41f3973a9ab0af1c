/** Tests that announcements change no result, however they come: random histories of commits. */
import { ok } from "node:assert";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { UnreadCount } from "../../../src/feed/ports/unread-counts.ts";
import { emptyInbox } from "../../../src/feed/rules/inbox.ts";
import {
  createUnreadCounts,
  inbox,
  minuteMs,
  pass,
  type UnreadCountFixture,
  useFakedTime,
} from "../../support/fixtures/unread-count-fixture.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

let fixture: UnreadCountFixture;
const create = () => {
  fixture = createUnreadCounts(9, true);
};
useFakedTime(create, () => fixture.unreadCounts);

const ownerIds = ["a", "b", "c"];
const owner = fc.constantFrom(...ownerIds);

type Step =
  /** Another process commits, and announces it so often; the server seems not to know it yet. */
  | {
      readonly step: "commit";
      readonly owner: string;
      readonly times: number;
      readonly held: boolean;
      /** Whether something unread changes by it, or only the version. */
      readonly isChange: boolean;
    }
  /** A held announcement comes, an earlier one or the latest. */
  | { readonly step: "deliver"; readonly index: number }
  | { readonly step: "invent"; readonly owner: string; readonly version: number }
  | { readonly step: "own"; readonly owner: string }
  | { readonly step: "lose" | "confirm" }
  | { readonly step: "wait"; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.constant("commit" as const),
      owner,
      // Lost, sent once, or doubled.
      times: fc.nat(2),
      held: fc.boolean(),
      isChange: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: fc.record({ step: fc.constant("deliver" as const), index: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ step: fc.constant("invent" as const), owner, version: fc.nat(10 ** 6) }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant("own" as const), owner }) },
  {
    weight: 1,
    arbitrary: fc.record({ step: fc.constantFrom("lose" as const, "confirm" as const) }),
  },
  { weight: 3, arbitrary: fc.record({ step: fc.constant("wait" as const), ms: fc.nat(3_000) }) },
);

/** Plays a history with three watched owners, and compares what their stream gets in the end. */
async function play(steps: readonly Step[]): Promise<void> {
  const held: { readonly owner: string; readonly version: number }[] = [];
  const latest = new Map(ownerIds.map((ownerId) => [ownerId, emptyInbox]));
  let changeCount = 0;
  const commit = (ownerId: string, isChange = true) => {
    if (isChange) changeCount += 1;
    const { version, changeVersion } = latest.get(ownerId) ?? emptyInbox;
    const next = inbox(version + 1, 1, isChange ? version + 1 : changeVersion);
    latest.set(ownerId, next);
    fixture.store.inboxes.set(ownerId, next);
    return next;
  };
  const stream = await fixture.follow(...ownerIds);
  fixture.channel.confirm();
  for (const each of steps) {
    if (each.step === "commit") {
      const { changeVersion: version } = commit(each.owner, each.isChange);
      const announcement = { owner: each.owner, version };
      if (each.held) held.push(...Array(each.times).fill(announcement));
      else for (let i = 0; i < each.times; i++) fixture.channel.send(each.owner, version);
    }
    if (each.step === "deliver" && held.length > 0) {
      const [late] = held.splice(each.index % held.length, 1);
      if (late) fixture.channel.send(late.owner, late.version);
    }
    if (each.step === "invent") fixture.channel.send(each.owner, each.version);
    if (each.step === "own") fixture.unreadCounts.publish(each.owner, commit(each.owner));
    if (each.step === "lose") fixture.channel.lose();
    if (each.step === "confirm") fixture.channel.confirm();
    if (each.step === "wait") await pass(each.ms);
  }
  await pass(1.2 * minuteMs);
  const counts = stream.events.filter((event): event is UnreadCount => "version" in event);
  ok(counts.length <= ownerIds.length + changeCount, "each change is sent once at most");
  for (const [ownerId, { version, changeVersion }] of latest) {
    const got = counts.filter((count) => count.ownerId === ownerId).map((count) => count.version);
    const last = got.at(-1) ?? -1;
    ok(changeVersion <= last && last <= version, `the last count of ${ownerId}: ${last}`);
    ok(
      got.every((each, i) => i === 0 || each > (got[i - 1] ?? 0)),
      `${ownerId}: ${got}`,
    );
  }
  await stream.leave();
  fixture.unreadCounts.close();
}

test("the last counts of 100 histories are those of the store, by growing versions", async () => {
  let histories = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
    histories += 1;
    create();
    return play(steps);
  });
  await assertSeeds(property, [{ seed: 20_261_125, numRuns: 100 }]);
  expect(histories).toBe(100);
});
