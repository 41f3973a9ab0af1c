/** The items of bulk grants, reactions and notifications in docs/keys.md have all attributes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { encodeRows } from "../../src/store/dynamodb/codecs/bulk-grants.ts";
import { toItem } from "../../src/store/dynamodb/codecs/index.ts";
import { largestBlock, largestBulkRecords } from "../support/fixtures/largest-bulk-records.ts";
import { largestRecords } from "../support/fixtures/largest-records.ts";
import { projectRoot } from "../support/markdown.ts";

const document = readFileSync(join(projectRoot, "docs/keys.md"), "utf8");

/** The attributes that the page lists for an item. */
function listedFor(item: string): string[] {
  const row = document.split("\n").find((line) => line.startsWith(`| ${item} |`)) ?? "";
  const attributes = row.split(" | ")[3] ?? "";
  return [...attributes.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
}

const records = [...largestRecords, ...largestBulkRecords];
const items = records.map(([what, ref, value]): [string, string[]] => {
  const { pk: _pk, sk: _sk, ...attributes } = toItem(ref, value, 1);
  return [what === "read group" ? "read group: the history" : what, Object.keys(attributes)];
});

const rows: [string, string[]] = ["block of rows", Object.keys(encodeRows(largestBlock))];

test.each([...items, rows])("%s", (what, stored) => {
  expect(listedFor(what).toSorted()).toEqual(stored.toSorted());
});
