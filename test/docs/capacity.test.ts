/** Runs the commands of the page about capacity, and compares what it says with the code. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { defaults } from "../../src/platform/config/config.ts";
import { reservationBytesAsleep } from "../../tools/capacity/actions.ts";
import { monthEndTable } from "../../tools/capacity/month-ends.ts";
import { prices } from "../../tools/capacity/prices.ts";
import { reportTable } from "../../tools/capacity/reports.ts";
import { monthsUntilCheaper } from "../../tools/capacity/table-class.ts";
import {
  assumed,
  costs,
  idlePassReads,
  idleSweepReads,
  ledgerWrites,
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

test("the table of month ends is that of the code", () => {
  expect(page).toContain(monthEndTable());
});

test("the table of liability reports and exports is that of the code", () => {
  expect(page).toContain(reportTable());
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
