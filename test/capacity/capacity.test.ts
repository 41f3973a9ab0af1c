/** Tests the options of `npm run capacity`, and its formulas by numbers worked out here. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { durations } from "../../tools/capacity/durations.ts";
import { eventCosts, eventDollars } from "../../tools/capacity/events.ts";
import {
  alternatives,
  dueUnits,
  dynamoDollars,
  heldGrants,
  type Load,
  limitUses,
  memoryMb,
  monthGbHours,
  monthUnits,
  partitions,
  postgresBreakEven,
  processDollars,
  type Settings,
  servers,
  shardsFor,
  steadyUnits,
  temporalActions,
  temporalDollars,
  workers,
  yearGb,
} from "../../tools/capacity/formulas.ts";
import { readOptions } from "../../tools/capacity/main.ts";
import { report } from "../../tools/capacity/report.ts";
import { assumed } from "../../tools/capacity/units.ts";
import { reconcilerTiming } from "../../workflows/timing.ts";
import { projectRoot } from "../support/markdown.ts";

const settings: Settings = {
  bulkRowsPerSecond: 100,
  sweepChangesPerSecond: 500,
  maxStreams: 10_000,
  announced: false,
  heldGrants: 20_000,
  leadSeconds: 6,
};

/** Read units of a month: passes, whose interval tests shorten, and sweeps of two workers. */
const idleReads =
  (75.5 * (86_400_000 / reconcilerTiming.intervalMs) + 2 * 8 * (86_400 / 10)) * (730 / 24);

const loadOf = (...args: readonly string[]): Load => readOptions(args).load;

test("options are numbers, also with an exponent, and what is left out is none", () => {
  const load = loadOf("--grants", "500", "--reservations", "1e6");
  expect(load).toMatchObject({ grants: 500, reservations: 1_000_000, rows: 0, watchers: 0 });
  expect(readOptions([]).announced).toBe(false);
  expect(readOptions(["--announced"]).announced).toBe(true);
});

test.each([
  [["--grant", "5"], "Unknown option '--grant'; the options are --grants, --uses"],
  [["500"], "Unexpected argument '500'"],
  [["--grants", "many"], "--grants has to be a number of at least 0, such as 500 or 1e6"],
  [["--grants", ""], "--grants has to be a number"],
  [["--rows=-1"], "--rows has to be a number"],
  [["--rows", "Infinity"], "--rows has to be a number"],
])("%j is refused", (args, line) => {
  expect(() => readOptions(args)).toThrow(line);
});

test("a wrong option ends the command with 1 and one line", async () => {
  const found = await new Promise((resolve) => {
    const args = ["tools/capacity/main.ts", "--grant", "5"];
    execFile(process.execPath, args, { cwd: projectRoot }, (error, out, err) =>
      resolve({ code: error?.code, out, lines: err.trim().split("\n") }),
    );
  });
  const line = expect.stringContaining("Unknown option '--grant'");
  expect(found).toEqual({ code: 1, out: "", lines: [line] });
});

test("units follow from calls, watchers, and the minute in which reservations are due", () => {
  const load = loadOf("--grants", "500", "--uses", "100", "--watchers", "36000");
  expect(steadyUnits(load, settings)).toEqual({ writes: 3_600, reads: 600 + 3_850 });
  expect(steadyUnits(load, { ...settings, announced: true }).reads).toBeCloseTo(600 + 351);
  expect(dueUnits(loadOf("--reservations", "6000"))).toEqual({ writes: 1_100, reads: 300 });
  // They are made all day, a reservation a second, and granted in a minute of each day.
  const reserved = loadOf("--reservations", "86400");
  expect(steadyUnits(reserved, settings)).toEqual({ writes: 5, reads: 1 });
  expect(monthUnits(reserved, settings).writes).toBeCloseTo(86_400 * (730 / 24) * (5 + 11));
  const month = monthUnits(loadOf("--rows", "1000", "--members", "10"), settings);
  expect(month.writes).toBe(7_080 + 50);
  expect(month.reads).toBeCloseTo(1_000 + 10 + idleReads);
  expect(yearGb(loadOf("--grants", "1"))).toBeCloseTo((12 * 2_628_000 * 487) / 1e9);
  expect(yearGb(loadOf("--reservations", "1e6"))).toBeCloseTo((365 * 1e6 * (948 + 130)) / 1e9);
  expect(yearGb(loadOf("--members", "1e6"))).toBeCloseTo(0.352);
});

test("partitions are those of the unit of which there are more", () => {
  expect(partitions({ writes: 0, reads: 0 })).toBe(1);
  expect(partitions({ writes: 4_001, reads: 0 })).toBe(5);
  expect(partitions({ writes: 1_000, reads: 9_001 })).toBe(4);
});

test("processes follow from calls, streams and grants of one moment", () => {
  const none = loadOf();
  expect([servers(none, settings), workers(none, settings)]).toEqual([2, 2]);
  expect(servers(loadOf("--balances", "8000"), settings)).toBe(5);
  expect(servers(loadOf("--reservations", String(8_000 * 86_400)), settings)).toBe(5);
  const watched = loadOf("--watchers", "30000");
  expect(servers(watched, settings)).toBe(3);
  expect(memoryMb(watched, settings).server).toBeCloseTo(250 + 277);
  const busy = loadOf("--reservations", "60000");
  expect(heldGrants(busy, settings)).toBe(6_000);
  expect(workers(busy, settings)).toBe(5);
  expect(workers(busy, { ...settings, heldGrants: 1_000 })).toBe(6);
  expect(memoryMb(busy, settings).worker).toBeCloseTo(250 + 1_200 * 0.0157);
});

test("dollars follow from the list prices", () => {
  const load = loadOf("--grants", "1");
  const grantDollars = 2.628 * (6 * 0.625 + 0.125);
  const { onDemand, provisioned } = dynamoDollars(load, settings);
  expect(onDemand).toBeCloseTo(grantDollars + (idleReads * 0.125) / 1e6);
  expect(provisioned).toBeCloseTo((730 * (6 * 0.00065 + 0.00013)) / 0.6);
  expect(processDollars(load, settings)).toBeCloseTo(730 * 4 * (0.04048 + 2 * 0.004445));
  // Servers of 1,081 MB, twice which is 3 GB.
  const streaming = processDollars(loadOf("--watchers", "60000"), { ...settings, maxStreams: 3e4 });
  expect(streaming).toBeCloseTo(730 * 2 * (2 * 0.04048 + (3 + 2) * 0.004445));
  // Temporal's own example: 11.25 million in excess of the plan's.
  expect(temporalDollars(13_750_000, 0)).toBeCloseTo(525 + 500);
  expect(temporalDollars(0, 0)).toBe(500);
  // Beyond 5,000 dollars of use the plan is a tenth of it.
  const large = 250 + 225 + 400 + 1_050 + 1_500 + 100 * 25 + 50 * 25;
  expect(temporalDollars(252_500_000, 0)).toBeCloseTo(large * 1.1);
  // Temporal's own example: 720 GBh of active storage in excess of the plan's 2.5 GB.
  expect(temporalDollars(0, 2.5 * 744 + 720)).toBeCloseTo(30.24 + 500);
  const { month, onDemand: grants } = postgresBreakEven();
  expect(grants * grantDollars).toBeCloseTo(month);
});

test("provisioned units are used as far as the template of the tables has it", () => {
  const template = parseDocument(readFileSync(`${projectRoot}deploy/tables.yaml`, "utf8"), {
    logLevel: "error",
  });
  const target = template.getIn(["Parameters", "TargetUtilization", "Default"]);
  expect(target).toBe(100 * assumed.provisionedShare);
});

test("actions are those of the reservations, the rows and the idle days", () => {
  const idle = temporalActions(loadOf(), settings).month;
  const { month, due } = temporalActions(loadOf("--reservations", "6000"), settings);
  expect(month - idle).toBeCloseTo((6_000 * 2 * 730) / 24);
  expect(due).toBe(100);
  const rows = temporalActions(loadOf("--rows", "20000"), settings).month;
  expect(rows - idle).toBeCloseTo(2 * 277);
});

test("a million points at one minute: reservations asleep, or rows of bulk grants", () => {
  const found = alternatives(loadOf("--reservations", "1e6"), settings);
  // 16 write and 4 read units, and 2 actions.
  const units = 16 * 0.625 + 4 * 0.125;
  expect(found.reserved).toBeCloseTo(units + 100);
  // 968 bytes each for 30 days.
  expect(found.asleep).toBeCloseTo(0.968 * 720 * 0.042);
  expect(monthGbHours(loadOf("--reservations", "1e6"))).toBeCloseTo((0.968 * 720 * 730) / 24);
  // Five sheets of 200,000 rows with 4,633 actions each (docs/run/temporal-cloud.md).
  expect(found.sheets).toBe(5);
  expect(found.bulk).toBeCloseTo(7.08 * 0.625 + 0.125 + ((5 * 4_633) / 1e6) * 50);
  // Twenty ranges, each in a worker that executes 100 rows a second.
  expect(found.bulkSeconds).toBe(500);
});

test("a program needs as many shards as its due reservations a second", () => {
  const shards = [0, 16_000, 16_001, 64_001, 1e6].map((rate) =>
    shardsFor(loadOf("--reservations", String(60 * rate))),
  );
  expect(shards).toEqual([16, 16, 64, 256, 256]);
  const uses = limitUses(loadOf("--reservations", "60000"), settings);
  expect(uses.find(({ raisedBy }) => raisedBy === "reservation_shard_count")).toMatchObject({
    ...{ used: 1_000, limit: 16_000 },
  });
  expect(uses.find(({ raisedBy }) => raisedBy === "no setting")).toMatchObject({ limit: 64_000 });
});

test("durations follow from the paces of workers, and of the index of a month end", () => {
  const load = loadOf("--members", "1e6", "--rows", "1e5");
  const secondsWith = (workers: number) =>
    durations(load, settings, workers).map(({ seconds }) => seconds);
  expect(secondsWith(2)).toEqual([1_000, 1_000, 500]);
  expect(secondsWith(32)).toEqual([125, 62.5, 31.25]);
});

test("events cost requests of all shards, batches of the log, and what reads them", () => {
  // 20 shards, four times a second each; a reader asks every 150 ms for the last batch, of 5 KB.
  const { streamReads, writes, reads } = eventCosts(0);
  expect([streamReads, writes]).toEqual([80, 0]);
  expect(reads).toBeCloseTo((2 * 1_000) / 150);
  // 10 batches of 70 events of 100 bytes, each with 260 positions of 20 bytes: 12,200 bytes.
  expect(eventCosts(700)).toEqual({
    streamReads: 80,
    writes: 10 * 12,
    reads: (10 + 1_000 / 150) * 3,
  });
  const { streams, log } = eventDollars(700);
  expect(streams).toBeCloseTo(80 * 2.628 * 0.2);
  expect(log).toBeCloseTo(120 * 2.628 * 0.625);
});

test("the report prints these figures", () => {
  const text = report(loadOf("--reservations", "1e6"), settings);
  for (const line of [
    "runs asleep              21,199 GBh a month",
    "as reservations          $111, and $29 while they sleep",
    "with execute_time as     5 bulk grants: $6, granted within 8.3 minutes",
  ]) {
    expect(text).toContain(`  ${line}\n`);
  }
  expect(report(loadOf(), settings)).not.toContain("execute_time");
});

test("the limit that is met first stands in front", () => {
  const [second, first] = limitUses(loadOf("--reservations", "60000"), settings);
  const used = 11_000 + (5 * 60_000) / 86_400;
  expect(first).toMatchObject({ name: "actions a second of a Temporal namespace", used: 1_000 });
  expect(second).toMatchObject({ name: "write units a second of a new table", used });
  expect(limitUses(loadOf("--balances", "9000"), settings)[0]).toMatchObject({
    name: "read units a second of a new table",
    used: 9_000,
  });
});
