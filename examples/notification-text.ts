/** Writes a notification in English or Japanese; docs/call/notifications.md explains it. */
import {
  type Notification,
  Notification_Type as Type,
} from "../src/gen/meguri/notifications/v1/notification_pb.ts";

export type Locale = "en" | "ja";

/** What sentences are made of, in the words of their language. */
interface Parts {
  /** The actors, such as "Ben and 2 others". */
  readonly people: string;
  /** The title of the target in quotation marks, or what stands for it. */
  readonly title: string;
  /** The number of events. Undefined for reactions, and where each actor caused one event. */
  readonly count: string | undefined;
  /** What the latest events are called, in the order of their times: "100, 50 and 10". */
  readonly labels: string;
  /** Whether there are more events than labels. */
  readonly hasMore: boolean;
  /** Whether the only label is the number 1. */
  readonly isOne: boolean;
}

type Sentences = ReadonlyMap<string, (parts: Parts) => string>;

/** The parts of a language. The order of words differs too, so that a sentence is one part. */
interface Language {
  /** The people who are not named, by the plural category of their number. */
  readonly others: (count: string, category: Intl.LDMLPluralRule) => string;
  readonly person: (name: string) => string;
  readonly title: (title: string) => string;
  /** A target without a title: of a reaction, which is the owner's, and of an event. */
  readonly untitled: { readonly own: string; readonly any: string };
  /** By kind: a map, because a kind may be named like a property of every object. */
  readonly reactions: Sentences;
  /** Events of people. */
  readonly events: Sentences;
  /** Events without an actor, whose labels say what it is about. */
  readonly labelledEvents: Sentences;
  /** Events that Meguri itself sends. No service can. Their labels are numbers of points. */
  readonly pointsEvents: Sentences;
  /** The sentence for every other kind. */
  readonly news: (parts: Parts) => string;
}

const en: Language = {
  others: (count, category) => `${count} ${category === "one" ? "other" : "others"}`,
  person: (name) => name,
  title: (title) => `“${title}”`,
  untitled: { own: "your post", any: "a post" },
  reactions: new Map([["like", ({ people, title }) => `${people} liked ${title}`]]),
  events: new Map<string, (parts: Parts) => string>([
    [
      "comment",
      ({ people, title, count }) =>
        count ? `${people} left ${count} comments on ${title}` : `${people} commented on ${title}`,
    ],
    ["follow", ({ people }) => `${people} followed you`],
  ]),
  labelledEvents: new Map([
    ["delivery", ({ labels, hasMore }) => `Delivered: ${labels}${hasMore ? " and more" : ""}`],
  ]),
  pointsEvents: new Map<string, (parts: Parts) => string>([
    [
      "points-granted",
      ({ labels, hasMore, isOne, title }) =>
        `You got ${labels} ${isOne ? "point" : "points"}${hasMore ? " and more" : ""} in ${title}`,
    ],
    [
      "points-expiring",
      ({ labels, isOne, title }) =>
        `${labels} ${isOne ? "point expires" : "points expire"} soon in ${title}`,
    ],
  ]),
  news: ({ title }) => `There is news about ${title}`,
};

const ja: Language = {
  others: (count) => `他${count}人`,
  person: (name) => `${name}さん`,
  title: (title) => `「${title}」`,
  untitled: { own: "あなたの投稿", any: "投稿" },
  reactions: new Map([["like", ({ people, title }) => `${people}が${title}に「いいね」しました`]]),
  events: new Map<string, (parts: Parts) => string>([
    [
      "comment",
      ({ people, title, count }) =>
        count
          ? `${people}が${title}に${count}件コメントしました`
          : `${people}が${title}にコメントしました`,
    ],
    ["follow", ({ people }) => `${people}があなたをフォローしました`],
  ]),
  labelledEvents: new Map([
    ["delivery", ({ labels, hasMore }) => `${labels}${hasMore ? "など" : ""}が届きました`],
  ]),
  pointsEvents: new Map<string, (parts: Parts) => string>([
    [
      "points-granted",
      ({ labels, hasMore, title }) =>
        `${title}で${labels}ポイント${hasMore ? "など" : ""}を獲得しました`,
    ],
    ["points-expiring", ({ labels, title }) => `${title}の${labels}ポイントがまもなく失効します`],
  ]),
  news: ({ title }) => `${title}に新しいお知らせがあります`,
};

const languages: Readonly<Record<Locale, Language>> = { en, ja };

/** The titles and pages of the programs, which Meguri does not know. */
const programs = new Map([["default", { en: "Bonsai Club", ja: "盆栽クラブ", link: "/points" }]]);

/** Writes one sentence. Names, titles and labels in it stand between isolates. */
export function sentence(notification: Notification, locale: Locale): string {
  const language = languages[locale];
  const write = sentencesFor(notification, language).get(notification.kind) ?? language.news;
  return write(partsOf(notification, locale));
}

/** Where a click leads: to the latest event, to the target or to the points of a program. */
export function linkOf({ latestEvents, target }: Notification): string {
  const program = programs.get(programIdOf(target?.targetName) ?? "");
  return program?.link || latestEvents[0]?.link || target?.link || "";
}

function sentencesFor(notification: Notification, language: Language): Sentences {
  const { type, target, kind, latestEvents } = notification;
  if (type === Type.REACTION) return language.reactions;
  const isPoints = programIdOf(target?.targetName) !== undefined;
  if (!isPoints && language.events.has(kind)) return language.events;
  // The labels are gone when all events have expired.
  if (latestEvents.length === 0) return new Map();
  return isPoints ? language.pointsEvents : language.labelledEvents;
}

function partsOf(notification: Notification, locale: Locale): Parts {
  const { eventCount, actorCount, latestEvents } = notification;
  const labels = latestEvents.map(({ displayName }) => displayName).reverse();
  const isPoints = programIdOf(notification.target?.targetName) !== undefined;
  const write = isPoints ? (label: string) => numberIn(locale, BigInt(label)) : isolate;
  return {
    people: peopleOf(notification, locale),
    title: titleOf(notification, locale),
    count: eventCount > actorCount ? numberIn(locale, eventCount) : undefined,
    labels: new Intl.ListFormat(locale).format(labels.map(write)),
    hasMore: eventCount > BigInt(labels.length),
    isOne: labels.length === 1 && labels[0] === "1",
  };
}

/** Names one or two people, or the first one and the number of the others. */
function peopleOf({ actorCount, firstActors }: Notification, locale: Locale): string {
  const language = languages[locale];
  const named = actorCount > 2n ? firstActors.slice(0, 1) : firstActors;
  const people = named.map(({ displayName }) => language.person(isolate(displayName)));
  const otherCount = actorCount - BigInt(named.length);
  if (otherCount > 0n) {
    const category = new Intl.PluralRules(locale).select(Number(otherCount));
    people.push(language.others(numberIn(locale, otherCount), category));
  }
  return new Intl.ListFormat(locale).format(people);
}

function titleOf({ target, type }: Notification, locale: Locale): string {
  const language = languages[locale];
  const title = programs.get(programIdOf(target?.targetName) ?? "")?.[locale] ?? target?.title;
  if (title) return language.title(isolate(title));
  return type === Type.REACTION ? language.untitled.own : language.untitled.any;
}

/** The program of Meguri's own targets, whose ids are `<program>:<user>`; undefined for others. */
function programIdOf(name: { type: string; id: string } | undefined): string | undefined {
  return name?.type === "meguri" ? name.id.slice(0, name.id.indexOf(":")) : undefined;
}

const numberIn = (locale: Locale, number: bigint) => new Intl.NumberFormat(locale).format(number);

/** Puts a text between FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE. */
const isolate = (text: string) => `\u2068${text}\u2069`;
