/** Writes a notification as an English or Japanese sentence; docs/notifications.md explains it. */
import type { Notification } from "../src/gen/meguri/notifications/v1/notification_pb.ts";

/** The parts of a language. The order of words differs too, so that a sentence is one part. */
interface Language {
  /** The people who are not named, by the plural category of their number. */
  readonly others: (count: string, category: Intl.LDMLPluralRule) => string;
  readonly person: (name: string) => string;
  readonly title: (title: string) => string;
  readonly untitled: string;
  /** By kind: a map, because a kind may be named like a property of every object. */
  readonly sentences: ReadonlyMap<string, (people: string, title: string) => string>;
  /** The sentence for every other kind. */
  readonly news: (title: string) => string;
}

const languages: Readonly<Record<"en" | "ja", Language>> = {
  en: {
    others: (count, category) => `${count} ${category === "one" ? "other" : "others"}`,
    person: (name) => name,
    title: (title) => `“${title}”`,
    untitled: "your post",
    sentences: new Map([
      ["like", (people, title) => `${people} liked ${title}`],
      ["comment", (people, title) => `${people} commented on ${title}`],
    ]),
    news: (title) => `There is news about ${title}`,
  },
  ja: {
    others: (count) => `他${count}人`,
    person: (name) => `${name}さん`,
    title: (title) => `「${title}」`,
    untitled: "あなたの投稿",
    sentences: new Map([
      ["like", (people, title) => `${people}が${title}に「いいね」しました`],
      ["comment", (people, title) => `${people}が${title}にコメントしました`],
    ]),
    news: (title) => `${title}に新しいお知らせがあります`,
  },
};

/** Names one or two people, or the first one and the number of the others. */
export function sentence(
  { kind, actorCount, firstActors, target }: Notification,
  locale: "en" | "ja",
): string {
  const language = languages[locale];
  const named = actorCount > 2n ? firstActors.slice(0, 1) : firstActors;
  const people = named.map(({ displayName }) => language.person(isolate(displayName)));
  const otherCount = actorCount - BigInt(named.length);
  if (otherCount > 0n) {
    const count = new Intl.NumberFormat(locale).format(otherCount);
    const category = new Intl.PluralRules(locale).select(Number(otherCount));
    people.push(language.others(count, category));
  }
  const list = new Intl.ListFormat(locale).format(people);
  const title = target?.title ? language.title(isolate(target.title)) : language.untitled;
  return language.sentences.get(kind)?.(list, title) ?? language.news(title);
}

/** Puts a text between FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE. */
const isolate = (text: string) => `\u2068${text}\u2069`;
