/** The items in docs/change/keys.md have all attributes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { encodeRows } from "../../src/bulk-grants/store/codecs/bulk-rows.ts";
import type { Item } from "../../src/platform/dynamodb/sdk/attributes.ts";
import { toItem } from "../../src/store/codecs.ts";
import { largestBlock, largestBulkRecords } from "../support/fixtures/largest-bulk-records.ts";
import { largestRecords } from "../support/fixtures/largest-records.ts";
import { projectRoot } from "../support/markdown.ts";
import { storeCauses } from "../support/stored-items/causes.ts";
import { storeEarlyExpiry } from "../support/stored-items/early-expiry.ts";
import { storeHolds } from "../support/stored-items/holds.ts";
import { storeJobs } from "../support/stored-items/jobs.ts";
import { storePoints, storePrograms, storeSnapshot } from "../support/stored-items/points.ts";
import { createRecorder } from "../support/stored-items/recorder.ts";
import { storeReservations } from "../support/stored-items/reservations.ts";

const document = readFileSync(join(projectRoot, "docs/change/keys.md"), "utf8");

/** The attributes that the page lists for an item, after its one or two keys. */
function listedFor(item: string): string[] {
  const row = document.split("\n").find((line) => line.startsWith(`| ${item} |`)) ?? "";
  const cells = row.split(" | ");
  const attributes = cells[cells.length > 3 ? 3 : 2] ?? "";
  return [...attributes.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name).toSorted();
}

/** The attributes of items of one kind, without their keys. */
const attributesOf = (items: readonly Item[]): string[] =>
  [...new Set(items.flatMap(Object.keys))].filter((name) => !/^[ps]k$/.test(name)).toSorted();

/** The items by their names on the page. A target is largest in two ways. */
const items = Map.groupBy([...largestRecords, ...largestBulkRecords], ([what]) =>
  what === "read group" ? "read group: the history" : what.replace(/ with its .*/, ""),
);

test.each([...items])("%s", (what, records) => {
  const stored = records.map(([, ref, value]) => toItem(ref, value, 1));
  expect(listedFor(what)).toEqual(attributesOf(stored));
});

test("block of rows", () => {
  expect(listedFor("block of rows")).toEqual(attributesOf([encodeRows(largestBlock)]));
});

describe("what calls store", () => {
  const recorder = createRecorder();
  beforeAll(async () => {
    await storePrograms(recorder);
    await storePoints(recorder);
    await storeReservations(recorder);
    await storeCauses(recorder);
    await storeEarlyExpiry(recorder);
    await storeSnapshot(recorder);
    await storeJobs(recorder);
    await storeHolds(recorder);
  });

  test.each([
    ["program", "program"],
    ["account", "account"],
    ["ledger entry", "entry"],
    ["event key", "event"],
    ["job", "job"],
    ["test clock", "testClock"],
    ["reservation", "reservation"],
    ["pending start", "pendingStart"],
    ["hold", "hold"],
  ])("%s", (what, kind) => {
    const stored = recorder.stored.filter((each) => each.kind === kind && each.op === "put");
    expect(listedFor(what)).toEqual(attributesOf(stored.map(({ item }) => item)));
  });
});
