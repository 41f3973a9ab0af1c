/** Tests which time zones a program may have, and how their names are stored. */
import tzdata from "tzdata" with { type: "json" };
import { expect, test } from "vitest";
import { timeZoneOf } from "../../../src/platform/words/time-zone.ts";

test("every name of the tz database, links among them, keeps its spelling", () => {
  const refused = Object.keys(tzdata.zones).filter((name) => timeZoneOf(name) !== name);
  // "Factory" is for a machine that is not set up; ICU does not have it.
  expect(refused).toEqual(["Factory"]);
});

test.each([
  ["asia/tokyo", "Asia/Tokyo"],
  ["AMERICA/HAVANA", "America/Havana"],
  ["america/port-au-prince", "America/Port-au-Prince"],
  ["utc", "UTC"],
  ["etc/gmt+9", "Etc/GMT+9"],
  ["gb-eire", "GB-Eire"],
])("%s is spelt %s", (name, spelt) => {
  expect(timeZoneOf(name)).toBe(spelt);
});

test.each([
  "US/Pacific-New",
  "JST",
  "Etc/Unknown",
  "+09:00",
  "",
  " UTC",
  "constructor",
  "A".repeat(1_000),
])("%s is not in the tz database", (name) => {
  expect(timeZoneOf(name)).toBeUndefined();
});
