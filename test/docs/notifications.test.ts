/** Runs the sentences of docs/call/notifications.md, and compares them with what the page shows. */
import { readFileSync } from "node:fs";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { linkOf, sentence } from "../../examples/notification-text.ts";
import {
  type Notification,
  NotificationSchema,
  Notification_Type as Type,
} from "../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { projectRoot } from "../support/markdown.ts";

const locales = ["en", "ja"] as const;
const bonsai = { title: "My first bonsai" };
/** The target of Meguri's own events about the points of one member. */
const member = { targetName: { type: "meguri", id: "default:aoi" } };

type Init = Exclude<MessageInitShape<typeof NotificationSchema>, Notification>;

/** A like of this number of people, of whom the first ones have these names. */
const likes = (count: number, names: readonly string[], changes: Init = {}) =>
  create(NotificationSchema, {
    kind: "like",
    type: Type.REACTION,
    actorCount: BigInt(count),
    firstActors: names.map((displayName) => ({ userId: displayName, displayName })),
    target: bonsai,
    ...changes,
  });

/** Events with these labels, the latest first, of as many people as are named. */
const events = (kind: string, labels: readonly string[], names: readonly string[], changes: Init) =>
  likes(Math.max(names.length, 1), names, {
    kind,
    type: Type.EVENT,
    eventCount: BigInt(labels.length),
    latestEvents: labels.slice(0, 3).map((displayName) => ({ displayName })),
    ...changes,
  });

/** The notifications of the second table of the page, in the order of its rows. */
const shownEvents = [
  events("comment", ["Ben"], ["Ben"], { target: bonsai }),
  events("comment", ["Ben", "Ben", "Ben"], ["Ben"], { target: bonsai }),
  events("comment", ["Chie", "Ben", "Ben"], ["Ben", "Chie"], { target: bonsai }),
  events("follow", ["Ben"], ["Ben"], {}),
  events("delivery", ["2 bowls"], [], {}),
  events("delivery", ["A saw", "2 bowls", "Wire", "Soil"], [], {}),
  events("points-granted", ["100"], [], { target: member }),
  events("points-granted", ["10", "50", "1000"], [], { target: member }),
  events("points-granted", ["10", "50", "1000", "5"], [], { target: member }),
  events("points-expiring", ["120"], [], { target: member }),
];

/** A text without its invisible isolates. */
const visible = (text: string) => text.replaceAll(/[\u2068\u2069]/g, "");

/** The cells of the rows behind a marker of the page, without the table's head. */
function tableNamed(marker: string): string[][] {
  const text = readFileSync(`${projectRoot}docs/call/notifications.md`, "utf8");
  const table = text.split(`<!-- ${marker} -->\n`)[1]?.split("\n\n")[0] ?? "";
  const rows = table.split("\n").slice(2);
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

test("the page shows the sentences of 1, 2, 3 and 1,234 people", () => {
  const rows = tableNamed("sentences");
  expect(rows.map(([people]) => people)).toEqual(["1", "2", "3", "1,234"]);
  for (const [people = "", ...sentences] of rows) {
    const count = Number(people.replace(",", ""));
    const notification = likes(count, ["Ben", "Chie"].slice(0, count));
    const written = locales.map((locale) => sentence(notification, locale));
    expect(written.map(visible)).toEqual(sentences);
  }
});

test("the page shows the sentences of events", () => {
  const written = shownEvents.map((each) =>
    locales.map((locale) => visible(sentence(each, locale))),
  );
  expect(tableNamed("events").map((cells) => cells.slice(1))).toEqual(written);
});

describe("a sentence", () => {
  test("isolates an Arabic name in English, and the title", () => {
    expect(sentence(likes(3, ["محمد", "Ben"]), "en")).toBe(
      "\u2068محمد\u2069 and 2 others liked “\u2068My first bonsai\u2069”",
    );
  });

  test("isolates each name and the title in Japanese", () => {
    const comments = likes(2, ["محمد", "愛子"], { kind: "comment", type: Type.EVENT });
    expect(sentence(comments, "ja")).toBe(
      "\u2068محمد\u2069さん、\u2068愛子\u2069さんが「\u2068My first bonsai\u2069」にコメントしました",
    );
  });

  test("isolates each label", () => {
    const deliveries = events("delivery", ["قوس", "Wire"], [], {});
    expect(sentence(deliveries, "en")).toBe("Delivered: \u2068Wire\u2069 and \u2068قوس\u2069");
  });

  test("counts one other in the singular, when the second person has no name", () => {
    expect(visible(sentence(likes(2, ["Ben"]), "en"))).toBe(
      "Ben and 1 other liked “My first bonsai”",
    );
  });

  test("of one point is in the singular", () => {
    const point = events("points-granted", ["1"], [], { target: member });
    expect(visible(sentence(point, "en"))).toBe("You got 1 point in “Bonsai Club”");
  });

  test.each([
    ["en", "like", "Ben liked your post"],
    ["ja", "like", "Benさんがあなたの投稿に「いいね」しました"],
    ["en", "comment", "Ben commented on a post"],
    ["ja", "comment", "Benさんが投稿にコメントしました"],
  ] as const)("about a target without a title, in %s: %s", (locale, kind, expected) => {
    const type = kind === "like" ? Type.REACTION : Type.EVENT;
    expect(visible(sentence(likes(1, ["Ben"], { kind, type, target: {} }), locale))).toBe(expected);
  });

  test.each([
    ["a kind that it does not know", likes(1, ["Ben"], { kind: "constructor" })],
    ["events of a service that are named like Meguri's", events("points-granted", ["9"], [], {})],
    ["deliveries that have expired", events("delivery", [], [], {})],
  ])("of %s has no people", (_, notification) => {
    expect(locales.map((locale) => visible(sentence(notification, locale)))).toEqual([
      "There is news about “My first bonsai”",
      "「My first bonsai」に新しいお知らせがあります",
    ]);
  });
});

test("a click leads to the latest event, or the target, or the points of a program", () => {
  const target = { ...bonsai, link: "/posts/1" };
  const comment = {
    kind: "comment",
    latestEvents: [{ link: "/posts/1#2" }, { link: "/posts/1#1" }],
  };
  expect(linkOf(likes(1, ["Ben"], { target, ...comment }))).toBe("/posts/1#2");
  expect(linkOf(likes(1, ["Ben"], { target }))).toBe("/posts/1");
  expect(linkOf(events("points-granted", ["1"], [], { target: member }))).toBe("/points");
  expect(linkOf(likes(1, ["Ben"]))).toBe("");
});
