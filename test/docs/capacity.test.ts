/** Runs the commands of the page about capacity, and compares what it says with the code. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { defaults } from "../../src/platform/config/config.ts";
import { reservationBytesAsleep } from "../../tools/capacity/actions.ts";
import { durationTable } from "../../tools/capacity/durations.ts";
import { eventDollars, eventTable } from "../../tools/capacity/events.ts";
import { onDemandDollars, times } from "../../tools/capacity/formulas.ts";
import { hoursPerMonth, prices } from "../../tools/capacity/prices.ts";
import { reportTable } from "../../tools/capacity/reports.ts";
import { monthsUntilCheaper } from "../../tools/capacity/table-class.ts";
import {
  assumed,
  costs,
  idlePassReads,
  idleSweepReads,
  ledgerWrites,
  limits,
  measured,
  stored,
} from "../../tools/capacity/units.ts";
import { projectRoot } from "../support/markdown.ts";

const page = readFileSync(`${projectRoot}docs/run/capacity.md`, "utf8");

const examples = [...page.matchAll(/```\n\$ npm run --silent capacity -- (.*)\n([\s\S]*?)\n```/g)];

test("there are three worked examples", () => {
  expect(examples).toHaveLength(3);
});

test.each(examples.map(([, args = "", output]) => ({ args, output })))(
  "the command prints what the page says: $args",
  ({ args, output }) => {
    // In a process of its own, because tests shorten intervals that the formulas use.
    const command = ["tools/capacity/main.ts", ...args.split(" ")];
    const options = { cwd: projectRoot, encoding: "utf8" } as const;
    expect(execFileSync(process.execPath, command, options).trimEnd()).toBe(output);
  },
);

test("the table of calls has the measured units", () => {
  const rows = [...page.matchAll(/^\| `--(\w+)` \|.*\| ([\d.]+) \| ([\d.]+) \|$/gm)];
  const found = Object.fromEntries(
    rows.map(([, name, writes, reads]) => [name, { writes: Number(writes), reads: Number(reads) }]),
  );
  expect(found).toEqual({
    grants: costs.grant,
    uses: costs.use,
    balances: costs.balance,
    likes: costs.like,
    notifies: costs.notify,
    reads: costs.read,
    members: costs.expire,
    reservations: {
      writes: costs.reserve.writes + costs.execute.writes,
      reads: costs.reserve.reads + costs.execute.reads,
    },
    rows: { writes: measured.rowWrites, reads: 1 },
  });
});

test("the table of durations is that of the code, at the default paces", () => {
  const paced = (name: string) => Number(defaults.get(name));
  const rates = {
    bulkRowsPerSecond: paced("MEGURI_BULK_ROWS_PER_SECOND"),
    sweepChangesPerSecond: paced("MEGURI_SWEEP_CHANGES_PER_SECOND"),
  };
  expect(page).toContain(durationTable(rates));
});

test("what is advised about a million reservations keeps the limits that it names", () => {
  const { writes } = costs.execute;
  const [hour, half] = [1e6 / 3_600, 1e6 / 1_800].map((rate) => Math.round(rate * writes));
  const share = (used = 0) => `${Math.round((100 * used) / limits.newTableWrites)} %`;
  const prose = page.replaceAll("\n", " ");
  expect(hour).toBeLessThan(limits.newTableWrites);
  expect(1e6 / 3_600).toBeLessThan(limits.actionsPerSecond);
  expect(prose).toContain(
    `over an hour they are ${hour?.toLocaleString("en")} write units a second, ${share(hour)}`,
  );
  expect(prose).toContain(`over half an hour ${share(half)}`);
  const large = examples.find(([, args]) => args?.includes("--reservations 1e6"))?.[2] ?? "";
  const [, reserved, asleep] = /as reservations +\$(\d+), and \$(\d+)/.exec(large) ?? [];
  const [, bulk] = /bulk grants: \$(\d+)/.exec(large) ?? [];
  expect(prose).toContain(`$${bulk} instead of $${Number(reserved) + Number(asleep)}`);
});

test("the table of liability reports and exports is that of the code", () => {
  expect(page).toContain(reportTable());
});

test("the table of events is that of the code, and so are the sums beside it", () => {
  expect(page).toContain(eventTable());
  const { streams, log, reader } = eventDollars(700);
  const grants = onDemandDollars(times(costs.grant, 700 * hoursPerMonth * 3_600));
  const inHundreds = (dollars: number) => (Math.round(dollars / 100) * 100).toLocaleString("en");
  const inTens = (dollars: number) => Math.round(dollars / 10) * 10;
  expect(page.replaceAll("\n", " ")).toContain(
    `are $${inHundreds(grants)} a month for the grants, and $${inTens(streams + log)}`,
  );
  const ofEvents = readFileSync(`${projectRoot}docs/run/events.md`, "utf8").replaceAll("\n", " ");
  expect(ofEvents).toContain(
    `$${inTens(streams + log)}: $${Math.round(streams)} for reading streams, ` +
      `$${Math.round(log)} for the log, and $${Math.round(reader)} for each`,
  );
  expect(ofEvents).toContain(`it is $${Math.round(eventDollars(0).streams)}, for reading`);
});

test("the class of the table points pays when the page says", () => {
  const { rareStoredGb, storedGb } = prices;
  expect(page).toContain(`for $${rareStoredGb} instead of $${storedGb} a month`);
  expect(page).toContain(`writes ${ledgerWrites} units of it and ${stored.grant} bytes`);
  expect(page).toContain(`grants of ${monthsUntilCheaper().toFixed(1)} months`);
});

test("the page names variables that exist, and the date of the prices", () => {
  const names = page.match(/MEGURI_\w+/g) ?? [];
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) expect([...defaults.keys()]).toContain(name);
  expect(page).toContain(prices.date);
  expect(page).toContain(`${measured.watcherReads} read units an hour`);
  expect(page).toContain(`${measured.streamKb} KB`);
  expect(page).toContain(`${measured.heldGrantKb} KB`);
  expect(page).toContain(`${100 * assumed.provisionedShare} % of what is provisioned`);
  expect(page).toContain(`${100 * assumed.cpuShare} % is planned for`);
  expect(page).toContain(`a call takes ${assumed.callCpuMs} ms`);
  expect(page).toContain(`to need ${assumed.rowCpuMs} ms`);
  expect(page).toContain(`takes ${idlePassReads} read units a pass`);
  expect(page).toContain(`${idleSweepReads} for its sweeps over what is overdue`);
  expect(page).toContain(`${reservationBytesAsleep.toLocaleString("en")} bytes of each`);
  expect(page).toContain(`made ${assumed.daysAhead} days ahead, at $${prices.activeGbHour} a GB`);
  expect(page).toContain(`so ${costs.reserve.writes} of their write units and one`);
});
