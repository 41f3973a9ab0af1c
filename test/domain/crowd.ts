/** Many people in front of one target, so that a test reads like a story. */
import {
  emptyInbox,
  type Group,
  type Inbox,
  type Members,
  type MembersOf,
  markRead,
  type ReadGroup,
} from "../../src/domain/notification.ts";
import { type Reaction, react, type Target, unreact } from "../../src/domain/reaction.ts";

export const post: Target = {
  type: "post",
  id: "1",
  owner: "owner",
  title: "",
  link: "",
  counts: {},
  muted: false,
  deleted: false,
  createTime: 0,
};

export const keptMs = 1_000;

/** A crowd that reacts with `like`; time and numbers pass together. */
export function createCrowd() {
  let target = post;
  let inbox: Inbox = emptyInbox;
  let group: Group | undefined;
  const rows = new Map<string, Reaction>();
  const history: ReadGroup[] = [];
  let asked = 0;

  /** What a query would tell: one more than is shown at each end, or a whole group. */
  const membersOf: MembersOf = ({ from, to, counted, whole }): Members => {
    asked += 1;
    const found = [...rows.values()]
      .filter(({ n, notified }) => notified && n >= from && n <= to)
      .sort((a, b) => a.n - b.n);
    if (whole !== undefined) {
      return { people: found.length, first: found, latest: found.toReversed() };
    }
    return {
      people: counted ? found.length : 0,
      first: found.slice(0, 3),
      latest: found.toReversed().slice(0, 4),
    };
  };

  return {
    get target() {
      return target;
    },
    get inbox() {
      return inbox;
    },
    get group() {
      return group;
    },
    /** Who is in the unread group, by the rows. */
    get members(): string[] {
      const { from = Number.POSITIVE_INFINITY } = group ?? {};
      return [...rows.values()]
        .filter(({ n, notified }) => notified && n >= from)
        .sort((a, b) => a.n - b.n)
        .map(({ user }) => user);
    },
    history,
    /** How often the members of a group were asked for since it was last looked at. */
    get asked() {
      const count = asked;
      asked = 0;
      return count;
    },
    row: (user: string) => rows.get(user),
    mute(muted: boolean) {
      target = { ...target, muted };
    },
    like(...users: string[]) {
      for (const user of users) {
        const scene = { target, inbox, group, row: undefined };
        const after = react(scene, "like", { user, name: `${user}!` }, inbox.n + 1);
        ({ target, inbox, group } = after);
        rows.set(user, after.row);
      }
    },
    unlike(...users: string[]) {
      for (const user of users) {
        const row = rows.get(user) as Reaction;
        ({ target, inbox, group } = unreact({ target, inbox, group, row }, row, membersOf));
        rows.delete(user);
      }
    },
    /** Marks as read, and tells what was read. */
    read(version: number): ReadGroup | undefined {
      const kept = { now: 10_000, keptMs };
      const after = markRead({ inbox, group }, version, kept, membersOf);
      ({ inbox, group } = after);
      if (after.read) history.push(after.read);
      return after.read;
    },
  };
}

/** Whom a group names: the first, then the latest. */
export const named = (group: Group | undefined): [string[], string[]] => [
  (group?.first ?? []).map(({ user }) => user),
  (group?.latest ?? []).map(({ user }) => user),
];

export const people = (count: number, from = 1): string[] =>
  Array.from({ length: count }, (_, i) => `u${from + i}`);
