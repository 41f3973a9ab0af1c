/**
 * Checks that the records of reactions and notifications agree with each other, as
 * docs/change/keys.md says: every member has its notification and every notification its members,
 * events are linked, and nothing is left of what has gone.
 */
import { deepStrictEqual, ok } from "node:assert";
import {
  type Item,
  num,
  parts,
  text,
  texts,
} from "../../../src/platform/dynamodb/sdk/attributes.ts";

/** A reaction or an event of which the owner was notified. */
interface Member {
  readonly userId: string;
  readonly displayName: string;
  readonly version: number;
  readonly item: Item;
}

/** The items of both tables. */
export interface Tables {
  readonly reactions: readonly Item[];
  readonly notifications: readonly Item[];
}

const isOf = (item: Item, pk: string, sk = ""): boolean =>
  text(item, "pk").startsWith(pk) && text(item, "sk").startsWith(sk);

/** The members by the name of their group: owner, kind, type and id. */
type Members = ReadonlyMap<string, readonly Member[]>;

/**
 * Throws at the first record that does not agree with the rest. `dismissed` has the members, as
 * owner, kind, type, id and version, whose notification was dismissed.
 */
export function audit(tables: Tables, dismissed: readonly string[]): void {
  const members = membersOf(tables);
  for (const [name, own] of members) {
    if (isEventsName(name)) auditEvents(tables, name, own);
  }
  auditActors(tables, members);
  auditReported(tables, members);
  auditGroups(tables, members, dismissed);
}

const isEventsName = (name: string): boolean => name.includes("#~");

function membersOf({ reactions }: Tables): Members {
  const owners = new Map(
    reactions
      .filter((each) => isOf(each, "T#"))
      .map((each) => [text(each, "pk"), text(each, "ip")]),
  );
  const items = reactions.filter(({ n, q }) => n && !q);
  const all = new Map<string, Member[]>();
  for (const item of items) {
    const [table, ...names] = parts(item, "pk") as [string, string, string, string, string];
    const sort = text(item, "sk");
    const isEvent = table === "V";
    const [owner, type, id, kind] = isEvent
      ? names
      : [owners.get(`T#${names[0]}#${names[1]}`), ...names];
    const userId = isEvent ? sort.slice(0, sort.lastIndexOf("#")) : sort;
    const member = { userId, displayName: text(item, "a"), version: num(item, "n"), item };
    const name = [owner, kind, type, id].join("#");
    all.set(name, [...(all.get(name) ?? []), member]);
  }
  for (const each of all.values()) each.sort((a, b) => a.version - b.version);
  return all;
}

/** Each event is linked to the actor's event before, and the purge finds the owner. */
function auditEvents({ reactions }: Tables, name: string, own: readonly Member[]): void {
  const latest = new Map<string, number>();
  for (const { userId, version, item } of own) {
    deepStrictEqual(num(item, "p"), latest.get(userId) ?? 0, `${name} ${version} of ${userId}`);
    latest.set(userId, version);
  }
  const [owner, kind, type, id] = name.split("#");
  const isListed = reactions.some(
    (each) => isOf(each, `W#${type}#${id}`) && text(each, "sk") === `${owner}#${kind}`,
  );
  ok(type === "-" || isListed, `the owner of ${name}`);
}

/** An actor has the version of the latest event, lives as long, and goes with the last one. */
function auditActors({ reactions }: Tables, members: Members): void {
  const stored = new Map(
    reactions
      .filter((each) => isOf(each, "V#") && !each.n)
      .map((each) => [`${text(each, "pk")} ${text(each, "sk")}`, each]),
  );
  const latest = new Map<string, Item>();
  for (const [name, own] of members) {
    if (!isEventsName(name)) continue;
    for (const { userId, item } of own) latest.set(`${text(item, "pk")} ${userId}`, item);
  }
  deepStrictEqual([...stored.keys()].sort(), [...latest.keys()].sort());
  for (const [name, event] of latest) {
    const actor = stored.get(name) as Item;
    deepStrictEqual(num(actor, "l"), num(event, "n"), name);
    // Of a later event that was retracted the actor keeps the end.
    ok(num(actor, "x") >= num(event, "x"), name);
  }
}

/** The events that services have reported, and neither they, a block nor a purge has taken back. */
function auditReported({ reactions, notifications }: Tables, members: Members): void {
  const deleted = reactions.filter((each) => isOf(each, "T#") && each.d);
  const isDeleted = (target: string) => deleted.some((each) => text(each, "pk") === `T#${target}`);
  const reported = notifications
    .filter((each) => isOf(each, "E#") && each.n && !each.r)
    .filter((each) => !isDeleted(text(each, "t")))
    .map((each) => `${text(each, "pk")} ${text(each, "sk")} ${num(each, "n")}`);
  const stored = [...members].flatMap(([name, own]) => {
    if (!isEventsName(name)) return [];
    const [owner] = name.split("#");
    return own.map(
      ({ item, version }) => `E#${owner} ${text(item, "s")}#${text(item, "i")} ${version}`,
    );
  });
  deepStrictEqual(reported.sort(), stored.sort());
}

/**
 * Each member is in one notification, which counts and shows it, unless that was dismissed; inboxes
 * count the unread ones.
 */
function auditGroups(
  { notifications }: Tables,
  members: Members,
  dismissed: readonly string[],
): void {
  const unread = notifications.filter((each) => isOf(each, "I#", "U#"));
  const read = notifications.filter((each) => isOf(each, "H#"));
  const inGroups: string[] = [];
  for (const item of [...unread, ...read]) {
    const isUnread = unread.includes(item);
    const [, owner] = parts(item, "pk");
    const [kind, type, id, generation] = parts(item, "sk").slice(isUnread ? 1 : 0);
    const name = [owner, kind, type, id].join("#");
    const from = isUnread ? num(item, "g") : Number(generation);
    const to = isUnread && !item.e ? Number.POSITIVE_INFINITY : num(item, isUnread ? "e" : "l");
    const own = (members.get(name) ?? []).filter(({ version }) => from <= version && version <= to);
    inGroups.push(...own.map(({ version }) => `${name} ${version}`));
    if (!isUnread) continue;
    // One that was read before counts and shows who had unreacted by then, too.
    if (item.w && !isEventsName(name)) continue;
    const namesOf = (some: readonly Member[]) =>
      some.flatMap(({ userId, displayName }) => [userId === "#" ? "" : userId, displayName]);
    deepStrictEqual(
      { l: num(item, "l"), p: num(item, "p"), a: texts(item, "a"), z: texts(item, "z") },
      {
        l: own.at(-1)?.version,
        p: new Set(own.map(({ userId }) => userId)).size,
        a: namesOf(own.slice(0, 2)),
        z: namesOf(own.slice(-3).reverse()),
      },
      `${name} ${from}`,
    );
  }
  const all = [...members].flatMap(([name, own]) => own.map(({ version }) => `${name} ${version}`));
  deepStrictEqual([...inGroups, ...dismissed].sort(), all.sort());
  for (const inbox of notifications.filter((each) => text(each, "sk") === "I")) {
    const own = unread.filter((each) => text(each, "pk") === text(inbox, "pk"));
    deepStrictEqual(
      [num(inbox, "g"), num(inbox, "c"), num(inbox, "p")],
      [
        own.length,
        own.filter((each) => each.e).length,
        own.reduce((sum, each) => sum + num(each, "p"), 0),
      ],
      text(inbox, "pk"),
    );
  }
}
