/**
 * Checks reactions, events and notifications: what was acknowledged is stored once, what was
 * removed is not; counts and notifications agree with what is stored; what was read stays read.
 */
import { byName, number } from "../../../src/platform/dynamodb/fields.ts";
import { type Item, num, text } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { audit } from "../../../test/support/models/reactions-audit.ts";
import type { RequestOf } from "../../../test/support/models/reactions-requests.ts";
import { endingOf, type ReactionRecord, type Record } from "../record.ts";
import type { State } from "./state.ts";

/** The problems of the feeds. */
export const wrongFeeds = (
  { reactions, events, reads }: Pick<Record, "reactions" | "events" | "reads">,
  { tables }: Pick<State, "tables">,
): string[] => [
  ...wrongReactions(reactions, tables),
  ...wrongCounts(tables),
  ...wrongEvents(events, tables),
  ...wrongReads(reads, tables),
  ...wrongTables(tables),
];

type Tables = State["tables"];

/** The items of active reactions, by target, kind and person. */
function storedReactions({ reactions }: Tables): Map<string, Item> {
  const items = reactions.filter((each) => text(each, "pk").startsWith("R#") && each.n);
  return new Map(items.map((each) => [nameOf(text(each, "pk"), text(each, "sk")), each]));
}

/** Without the shard, with which the partition ends. */
const nameOf = (partition: string, userId: string): string =>
  `${partition.slice(2, partition.lastIndexOf("#"))} ${userId}`;

/** Of each person the last reaction is stored; without an answer, that one or the one before. */
function wrongReactions(records: Record["reactions"], tables: Tables): string[] {
  const stored = storedReactions(tables);
  const sent = Map.groupBy(records, ({ request: { target, kind, userId } }) =>
    nameOf(`R#${target.type}#${target.id}#${kind}#`, userId),
  );
  const unknown = [...stored.keys()].filter((name) => !sent.has(name));
  const versions = Map.groupBy(
    stored.values(),
    (item) => `${ownerOf(item, tables)} ${num(item, "n")}`,
  );
  return [
    ...unknown.map((name) => `the reaction ${name} is stored, and nobody has sent it`),
    ...[...versions]
      .filter(([, items]) => items.length > 1)
      .map(([version, items]) => `${items.length} reactions have the version ${version}`),
    ...[...sent].flatMap(([name, all]) => {
      const last = all.at(-1) as Record["reactions"][number];
      const isStored = stored.has(name);
      const isWanted = last.request.op === "react";
      const ending = endingOf(last);
      const refused = ending === "refused" ? [`the reaction ${name} was refused`] : [];
      if (isStored === isWanted || ending !== "acknowledged") return refused;
      return [
        `the reaction ${name} was ${isWanted ? "made" : "removed"}, and is ${
          isStored ? "stored" : "lost"
        }`,
      ];
    }),
  ];
}

/** The owner of the target of a reaction. */
function ownerOf(item: Item, { reactions }: Tables): string {
  const [, type, id] = text(item, "pk").split("#");
  const target = reactions.find((each) => text(each, "pk") === `T#${type}#${id}`);
  return target ? text(target, "ip") : "";
}

/** The counts of each target are the numbers of its reactions. */
function wrongCounts(tables: Tables): string[] {
  const names = [...storedReactions(tables).keys()].map((name) => name.split(" ")[0]);
  const targets = tables.reactions.filter((each) => text(each, "pk").startsWith("T#"));
  return targets.flatMap((target) => {
    const name = text(target, "pk").slice(2);
    const counts = (target.k && byName(number).decode(target.k)) ?? {};
    const own = names.filter((each) => each?.startsWith(`${name}#`));
    const kinds = new Set([
      ...Object.keys(counts),
      ...own.map((each) => each?.split("#")[2] ?? ""),
    ]);
    return [...kinds].flatMap((kind) => {
      const stored = own.filter((each) => each === `${name}#${kind}`).length;
      const counted = counts[kind] ?? 0;
      return counted === stored ? [] : [`${name} counts ${counted} of ${kind}, and has ${stored}`];
    });
  });
}

/** An event that was acknowledged is stored until it is retracted, and never again then. */
function wrongEvents(records: Record["events"], { reactions }: Tables): string[] {
  const items = reactions.filter((each) => text(each, "pk").startsWith("V#") && each.n);
  const stored = Map.groupBy(items, (each) => text(each, "i"));
  const sent = Map.groupBy(records, ({ request }) => request.eventId);
  const unknown = [...stored.keys()].filter((id) => !sent.has(id));
  return [
    ...unknown.map((id) => `the event ${id} is stored, and nobody has sent it`),
    ...[...sent].flatMap(([id, all]) => {
      const count = stored.get(id)?.length ?? 0;
      const ends = (op: "notify" | "retract") =>
        all.filter(({ request }) => request.op === op).map(endingOf);
      const [made] = ends("notify");
      const [back] = ends("retract");
      return [
        ...(count > 1 ? [`the event ${id} is stored ${count} times`] : []),
        ...(made === "acknowledged" && back === undefined && count === 0
          ? [`the event ${id} was acknowledged, and is lost`]
          : []),
        ...(back === "acknowledged" && count > 0 ? [`the event ${id} is there after all`] : []),
        ...(made === "refused" || back === "refused" ? [`the event ${id} was refused`] : []),
      ];
    }),
  ];
}

/**
 * No unread notification has members up to a version by which members were read. A mark that found
 * none, because they had left before it, changes nothing: the notification keeps its generation.
 */
function wrongReads(records: Record["reads"], { notifications }: Tables): string[] {
  const read = new Map<string, number>();
  for (const record of records.filter(hasRead)) {
    const name = lineOf(record);
    read.set(name, Math.max(read.get(name) ?? 0, record.request.version));
  }
  return notifications
    .filter((each) => text(each, "pk").startsWith("I#") && text(each, "sk").startsWith("U#"))
    .flatMap((item) => {
      const [kind, type, id] = text(item, "sk").slice(2).split("#");
      const name = `${text(item, "pk").slice(2)} ${kind}#${type}#${id}`;
      const upTo = read.get(name) ?? 0;
      return num(item, "g") > upTo
        ? []
        : [`the notification ${name} is unread from ${num(item, "g")}, and was read to ${upTo}`];
    });
}

const hasRead = ({ attempts }: Record["reads"][number]): boolean =>
  attempts.some(({ answer }) => (answer as { changed: boolean } | undefined)?.changed);

const lineOf = ({ ownerId, request }: ReactionRecord<RequestOf<"read">>): string =>
  `${ownerId} ${request.kind}#${request.target.type}#${request.target.id}`;

/** Notifications, inboxes and their members agree with each other. */
function wrongTables(tables: Tables): string[] {
  try {
    audit(tables, []);
    return [];
  } catch (error) {
    return [`notifications and their members: ${(error as Error).message}`];
  }
}
