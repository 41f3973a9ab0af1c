/** The text that `npm run capacity` prints. */

import { durations } from "./durations.ts";
import {
  alternatives,
  dueUnits,
  dynamoDollars,
  formatTime,
  heldGrants,
  idleMonthReads,
  type Load,
  limitUses,
  memoryMb,
  monthGb,
  monthGbHours,
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
} from "./formulas.ts";
import { prices } from "./prices.ts";

/** A number with separators, and two digits where it is small. */
const shown = (number: number): string =>
  number.toLocaleString("en", { maximumFractionDigits: number < 10 ? 2 : 0 });

const dollars = (number: number): string => `$${Math.round(number).toLocaleString("en")}`;

/** A percentage of two digits. */
const share = (used: number, limit: number): string =>
  `${((100 * used) / limit).toLocaleString("en", { maximumSignificantDigits: 2 })} %`;

/** One line for each number, in sections. */
export function report(load: Load, settings: Settings): string {
  return [
    ...storeLines(load, settings),
    ...processLines(load, settings),
    ...dollarLines(load, settings),
    ...durationLines(load, settings),
    ...adviceLines(load, settings),
    ...limitLines(load, settings),
  ].join("\n");
}

function storeLines(load: Load, settings: Settings): string[] {
  const steady = steadyUnits(load, settings);
  const due = dueUnits(load);
  const peak = { writes: steady.writes + due.writes, reads: steady.reads + due.reads };
  const units = ({ writes, reads }: typeof peak) =>
    `${shown(writes)} write and ${shown(reads)} read units a second`;
  const [year, month] = [yearGb(load), monthGb(load)];
  return [
    "DynamoDB",
    `  calls and watchers       ${units(steady)}`,
    `  the minute of the day    ${units(due)} more`,
    `  idle passes and sweeps   ${shown(idleMonthReads(load, settings))} read units a month`,
    `  partitions at that time  ${shown(partitions(peak))}, if no key is hot`,
    `  shards of a program      ${shardsFor(load)}, if all reservations are of one`,
    `  stored                   ${shown(year)} GB in a year, ${shown(month)} GB more a month`,
  ];
}

function processLines(load: Load, settings: Settings): string[] {
  const memory = memoryMb(load, settings);
  const { month, due } = temporalActions(load, settings);
  const [serverCount, workerCount] = [servers(load, settings), workers(load, settings)];
  return [
    "Processes of one vCPU",
    `  servers                  ${shown(serverCount)}, of ${shown(memory.server)} MB each`,
    `  workers                  ${shown(workerCount)}, of ${shown(memory.worker)} MB each`,
    `  grants held at a time    ${shown(heldGrants(load, settings))}`,
    "Temporal",
    `  actions                  ${shown(month)} a month, ${shown(due)} a second in that minute`,
    `  runs asleep              ${shown(monthGbHours(load))} GBh a month`,
  ];
}

function dollarLines(load: Load, settings: Settings): string[] {
  const { onDemand, provisioned, storage } = dynamoDollars(load, settings);
  const { month } = temporalActions(load, settings);
  const processes = processDollars(load, settings);
  const temporal = temporalDollars(month, monthGbHours(load));
  const { onDemand: atOnce, provisioned: planned, month: postgres } = postgresBreakEven();
  const cheaper = `a Postgres for ${dollars(postgres)} is cheaper than DynamoDB from`;
  return [
    `Dollars a month, at list prices of ${prices.date}`,
    `  DynamoDB on demand       ${dollars(onDemand)}`,
    `  or provisioned           ${dollars(provisioned)} for calls and watchers alone`,
    `  its storage in a year    ${dollars(storage)}, with point-in-time recovery`,
    `  servers and workers      ${dollars(processes)}`,
    `  Temporal Cloud           ${dollars(temporal)}, without histories of closed runs`,
    `  all, on demand           ${dollars(onDemand + storage + processes + temporal)}`,
    `  ${cheaper} ${shown(atOnce)} grants a second,`,
    `  or from ${shown(planned)} where they are provisioned, if it takes them`,
  ];
}

/** How long the work on all members and rows takes, if the tables take it. */
function durationLines(load: Load, settings: Settings): string[] {
  const count = workers(load, settings);
  const lines = durations(load, settings, count).filter((each) => each.count > 0);
  if (lines.length === 0) return [];
  return [
    `Durations with ${shown(count)} workers, and the units on demand`,
    ...lines.map(({ name, seconds, writesPerSecond: writes, dollars: units }) => {
      const rate = `${shown(writes)} write units a second`;
      return `  ${name.padEnd(25)}${formatTime(seconds)}, ${rate}, ${dollars(units)}`;
    }),
  ];
}

/** Compares the costs of a day's grants as reservations and as rows; empty without reservations. */
function adviceLines(load: Load, settings: Settings): string[] {
  if (load.reservations === 0) return [];
  const { reserved, asleep, sheets, bulk, bulkSeconds } = alternatives(load, settings);
  const grants = sheets === 1 ? "a bulk grant" : `${sheets} bulk grants`;
  const time = formatTime(bulkSeconds);
  return [
    "The reservations of one day, without the plan of Temporal Cloud",
    `  as reservations          ${dollars(reserved)}, and ${dollars(asleep)} while they sleep`,
    `  with execute_time as     ${grants}: ${dollars(bulk)}, granted within ${time}`,
  ];
}

function limitLines(load: Load, settings: Settings): string[] {
  const uses = limitUses(load, settings);
  return [
    "Limits, the one that is met first in front",
    ...uses.map(({ name, used, limit, raisedBy }) => {
      return `  ${share(used, limit)} of ${shown(limit)} ${name}: raised by ${raisedBy}`;
    }),
  ];
}
