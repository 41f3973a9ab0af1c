/** Runs the sentences of docs/notifications.md, and compares them with what the page shows. */
import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { sentence } from "../../examples/notification-text.ts";
import { NotificationSchema } from "../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { codeNamed, projectRoot } from "../support/markdown.ts";

const page = "docs/notifications.md";
const locales = ["en", "ja"] as const;

/** A notification of this number of people, of whom the first ones have these names. */
const notification = (
  count: number,
  names: readonly string[],
  { kind = "like", title = "My first bonsai" } = {},
) =>
  create(NotificationSchema, {
    kind,
    actorCount: BigInt(count),
    firstActors: names.map((displayName) => ({ userId: displayName, displayName })),
    target: { title },
  });

/** A text without its invisible isolates. */
const visible = (text: string) => text.replaceAll(/[\u2068\u2069]/g, "");

/** The cells of the rows behind a marker of the page, without the table's head. */
function tableNamed(marker: string): string[][] {
  const text = readFileSync(`${projectRoot}${page}`, "utf8");
  const table = text.split(`<!-- ${marker} -->\n`)[1]?.split("\n\n")[0] ?? "";
  const rows = table.split("\n").slice(2);
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

test("the page shows the code of the example", () => {
  const file = readFileSync(`${projectRoot}examples/notification-text.ts`, "utf8");
  expect(codeNamed(page, "sentence")).toBe(file);
});

test("the page shows the sentences of 1, 2, 3 and 1,234 people", () => {
  const rows = tableNamed("sentences");
  expect(rows.map(([people]) => people)).toEqual(["1", "2", "3", "1,234"]);
  for (const [people = "", ...sentences] of rows) {
    const count = Number(people.replace(",", ""));
    const names = ["Ben", "Chie"].slice(0, count);
    const written = locales.map((locale) => sentence(notification(count, names), locale));
    expect(written.map(visible)).toEqual(sentences);
  }
});

describe("a sentence", () => {
  test("isolates an Arabic name in English, and the title", () => {
    expect(sentence(notification(3, ["محمد", "Ben"]), "en")).toBe(
      "\u2068محمد\u2069 and 2 others liked “\u2068My first bonsai\u2069”",
    );
  });

  test("isolates each name and the title in Japanese", () => {
    expect(sentence(notification(2, ["محمد", "愛子"], { kind: "comment" }), "ja")).toBe(
      "\u2068محمد\u2069さん、\u2068愛子\u2069さんが「\u2068My first bonsai\u2069」にコメントしました",
    );
  });

  test("counts one other in the singular, when the second person has no name", () => {
    expect(visible(sentence(notification(2, ["Ben"]), "en"))).toBe(
      "Ben and 1 other liked “My first bonsai”",
    );
  });

  test.each([
    ["en", "Ben liked your post"],
    ["ja", "Benさんがあなたの投稿に「いいね」しました"],
  ] as const)("about a target without a title, in %s", (locale, expected) => {
    const untitled = notification(1, ["Ben"], { title: "" });
    expect(visible(sentence(untitled, locale))).toBe(expected);
  });

  test.each(["delivery", "constructor"])("about the unknown kind %s has no people", (kind) => {
    const other = notification(1, ["2 parcels"], { kind });
    expect(locales.map((locale) => visible(sentence(other, locale)))).toEqual([
      "There is news about “My first bonsai”",
      "「My first bonsai」に新しいお知らせがあります",
    ]);
  });
});
