/** Tests inboxes: their counts, which groups are unseen, and the badge. */
import { deepStrictEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  badgeOf,
  emptyInbox,
  type Inbox,
  markSeen,
  maxCountedKinds,
  maxUnseen,
  replaceGroup,
} from "../../../src/feed/rules/inbox.ts";
import type { StoredKind } from "../../../src/feed/rules/kinds.ts";
import { inboxWith, users } from "../../support/fixtures/unread-group-fixture.ts";

/** An unread group, as the inbox counts it. */
interface Counted {
  readonly kind: StoredKind;
  readonly version: number;
  readonly actorCount: number;
}

/** Keeps an inbox, and the groups that it counts as a plain list. */
function createInbox() {
  let inbox: Inbox = emptyInbox;
  let groups: Counted[] = [];
  /** By version of a change: what was unread after it, as text. */
  const unreadAt = new Map<number, string>();

  function replace(before: Counted | undefined, after: Counted | undefined): void {
    inbox = replaceGroup(inbox, before, after);
    groups = groups.filter((each) => each !== before);
    if (after) groups.push(after);
  }

  return {
    get inbox() {
      return inbox;
    },
    get groups(): readonly Counted[] {
      return groups;
    },
    begin(count = 1, kind = "like") {
      for (let i = 0; i < count; i++) {
        replace(undefined, { kind, version: inbox.version + 1, actorCount: 1 });
      }
    },
    join(group: Counted) {
      const actorCount = group.actorCount + 1;
      replace(group, { ...group, version: inbox.version + 1, actorCount });
    },
    /** The latest member of a group leaves, so that the group goes back to an earlier version. */
    leave(group: Counted, version: number) {
      const isFree = groups.every((each) => each.version !== version);
      const actorCount = group.actorCount - 1;
      if (actorCount > 0 && isFree) replace(group, { ...group, version, actorCount });
    },
    /** An actor whom nobody sees leaves, or earlier ones are read. */
    shrink(group: Counted) {
      if (group.actorCount > 1) replace(group, { ...group, actorCount: group.actorCount - 1 });
    },
    end: (group: Counted) => replace(group, undefined),
    /** A reaction that notifies nobody. */
    change() {
      inbox = { ...inbox, version: inbox.version + 1 };
    },
    see(version: number) {
      inbox = markSeen(inbox, version);
    },
    /** Compares the inbox with the list. */
    check() {
      const { version, unseen, olderUnseenCount, seenVersion } = inbox;
      const later = groups.map((each) => each.version).filter((each) => each > seenVersion);
      const badge = badgeOf(inbox);
      const kinds = Object.keys(badge.kindCounts);
      // One comparison, because `expect` takes longer than all that is compared.
      deepStrictEqual(
        { unseen, total: unseen.length + olderUnseenCount, badge },
        {
          unseen: later.sort((a, b) => b - a).slice(0, unseen.length),
          total: later.length,
          badge: {
            notificationCount: groups.length,
            actorCount: groups.reduce((sum, each) => sum + each.actorCount, 0),
            unseenNotificationCount: Math.min(later.length, maxUnseen),
            kindCounts: Object.fromEntries(
              kinds.map((kind) => [kind, groups.filter((each) => each.kind === kind).length]),
            ),
          },
        },
      );
      ok(unseen.length <= maxUnseen && kinds.length <= maxCountedKinds && seenVersion <= version);
      const text = JSON.stringify([badgeOf(inbox), groups]);
      equal(text, unreadAt.get(inbox.changeVersion) ?? text);
      unreadAt.set(inbox.changeVersion, text);
    },
  };
}

type TestInbox = ReturnType<typeof createInbox>;

describe("a random life of an inbox", () => {
  const share = fc.noBias(fc.integer({ min: 0, max: 1_000 })).map((at) => at / 1_000);
  const pick = ({ groups }: TestInbox, at: number) =>
    groups[Math.floor(at * (groups.length - 1))] as Counted;
  const onGroup = (act: (one: TestInbox, group: Counted, at: number) => void) =>
    fc.tuple(share, share).map(([which, at]) => (one: TestInbox) => {
      if (one.groups.length > 0) act(one, pick(one, which), at);
    });
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: 130 }), fc.constantFrom("like", "~like", "wow"))
        .map(
          ([n, kind]) =>
            (one: TestInbox) =>
              one.begin(n, kind),
        ),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.nat(16), fc.integer({ min: 1, max: 20 }))
        .map(([from, n]) => (one: TestInbox) => {
          for (let i = from; i < from + n; i++) one.begin(1, `k${i}`);
        }),
    },
    { weight: 4, arbitrary: onGroup((one, group) => one.join(group)) },
    {
      weight: 3,
      arbitrary: onGroup((one, group, at) =>
        one.leave(group, 1 + Math.floor(at * (group.version - 1))),
      ),
    },
    { weight: 1, arbitrary: onGroup((one, group) => one.shrink(group)) },
    { weight: 3, arbitrary: onGroup((one, group) => one.end(group)) },
    {
      weight: 1,
      arbitrary: share.map((at) => (one: TestInbox) => {
        const latest = one.groups.toSorted((a, b) => b.version - a.version);
        for (const group of latest.slice(0, 60 + Math.round(at * 60))) one.end(group);
      }),
    },
    { weight: 1, arbitrary: fc.constant((one: TestInbox) => one.change()) },
    {
      weight: 3,
      arbitrary: share.map(
        (at) => (one: TestInbox) => one.see(Math.round(at * (one.inbox.version + 3))),
      ),
    },
  );

  test("counts groups, people and unseen groups as a plain list does", () => {
    const lives = fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
      const one = createInbox();
      let { version, changeVersion, seenVersion } = one.inbox;
      for (const act of steps) {
        act(one);
        one.check();
        ok(one.inbox.version >= version && one.inbox.changeVersion >= changeVersion);
        ok(one.inbox.changeVersion <= one.inbox.version && one.inbox.seenVersion >= seenVersion);
        ({ version, changeVersion, seenVersion } = one.inbox);
      }
    });
    fc.assert(lives, { numRuns: 300 });
  });
});

describe("what is seen", () => {
  test("begins with nothing, and covers the groups up to a version", () => {
    const one = createInbox();
    one.begin(3);
    expect(badgeOf(one.inbox)).toEqual({
      notificationCount: 3,
      actorCount: 3,
      unseenNotificationCount: 3,
      kindCounts: { like: 3 },
    });
    one.see(2);
    expect(one.inbox).toEqual({ ...inboxWith(4, 3, 3, 3), seenVersion: 2 });
    one.begin();
    expect(badgeOf(one.inbox).unseenNotificationCount).toBe(2);
    one.see(5);
    expect(badgeOf(one.inbox)).toEqual({
      notificationCount: 4,
      actorCount: 4,
      unseenNotificationCount: 0,
      kindCounts: { like: 4 },
    });
  });

  test("beyond the inbox is seen at the version of the inbox", () => {
    const one = createInbox();
    one.begin(2);
    one.see(1_000_000);
    expect(one.inbox).toEqual({ ...inboxWith(3, 2, 2), seenVersion: 2 });
    one.begin();
    expect(one.inbox.unseen).toEqual([4]);
  });

  test.each([0, 1, 2, 3])("at version %i again, or earlier, changes nothing", (version) => {
    const one = createInbox();
    one.begin(3);
    one.see(3);
    const before = one.inbox;
    one.see(version);
    expect(one.inbox).toBe(before);
    one.change();
    const changed = one.inbox;
    one.see(5);
    expect(one.inbox).toBe(changed);
  });

  test("a seen group is unseen again with a new member, and seen when that one leaves", () => {
    const one = createInbox();
    one.begin(2);
    one.see(2);
    one.join(one.groups[0] as Counted);
    expect(one.inbox.unseen).toEqual([4]);
    one.leave(one.groups.at(-1) as Counted, 1);
    expect(one.inbox.unseen).toEqual([]);
    expect(one.groups.map(({ version }) => version)).toEqual([2, 1]);
  });
});

describe("kinds", () => {
  const kindsOf = ({ inbox }: TestInbox) => badgeOf(inbox).kindCounts;
  const endAll = (one: TestInbox, kind: string) => {
    for (const group of one.groups) if (group.kind === kind) one.end(group);
  };

  test("are counted apart, also of a name that every object has, and of events", () => {
    const one = createInbox();
    for (const kind of ["like", "~like", "constructor", "like"]) one.begin(1, kind);
    expect(kindsOf(one)).toEqual({ like: 2, "~like": 1, constructor: 1 });
    one.join(one.groups[0] as Counted);
    expect(kindsOf(one)).toEqual({ like: 2, "~like": 1, constructor: 1 });
    endAll(one, "constructor");
    one.end(one.groups.find(({ kind }) => kind === "like") as Counted);
    expect(kindsOf(one)).toEqual({ like: 1, "~like": 1 });
  });

  test("of more than 16, one has a number only if all its groups are counted", () => {
    const one = createInbox();
    const kinds = users(16);
    for (const kind of kinds) one.begin(1, kind);
    one.begin(2, "late");
    expect(Object.keys(kindsOf(one))).toEqual(kinds);
    // There is room for a number, but two of this kind are not counted yet.
    endAll(one, kinds[0] as string);
    one.begin(1, "late");
    one.begin(1, "later");
    expect(Object.keys(kindsOf(one))).toEqual(kinds.slice(1));
    endAll(one, "late");
    endAll(one, "later");
    one.begin(1, "late");
    expect(kindsOf(one)).toMatchObject({ late: 1 });
  });
});

describe("more unseen groups than 99", () => {
  test.each([
    [99, 99, 0],
    [100, 99, 1],
    [250, 99, 151],
  ])("of %i, %i are counted one by one and %i together", (count, counted, older) => {
    const one = createInbox();
    one.begin(count);
    expect(one.inbox.unseen).toEqual(users(counted).map((_, i) => count - i));
    expect(one.inbox.olderUnseenCount).toBe(older);
    expect(badgeOf(one.inbox).unseenNotificationCount).toBe(99);
  });

  test("the older ones are counted when the latest are read", () => {
    const one = createInbox();
    one.begin(120);
    for (const group of one.groups.slice(-99)) one.end(group);
    expect(badgeOf(one.inbox)).toEqual({
      notificationCount: 21,
      actorCount: 21,
      unseenNotificationCount: 21,
      kindCounts: { like: 21 },
    });
    // A new group is later than the older ones, and is not seen with them.
    one.begin();
    const { version } = one.inbox;
    one.begin();
    one.see(version);
    expect(badgeOf(one.inbox).unseenNotificationCount).toBe(1);
  });

  test("a version older than the latest 99 leaves all of them unseen", () => {
    const one = createInbox();
    one.begin(150);
    const before = one.inbox;
    one.see(30);
    expect(one.inbox).toBe(before);
    for (const group of one.groups) one.end(group);
    expect(badgeOf(one.inbox)).toEqual({
      notificationCount: 0,
      actorCount: 0,
      unseenNotificationCount: 0,
      kindCounts: {},
    });
  });
});
