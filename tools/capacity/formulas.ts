/** The needs and costs of a load: pure formulas over measured units and list prices. */
import { rangeCount } from "../../src/bulk-grants/contract/bulk-grants.ts";
import { maxRows, rowsPerBlock } from "../../src/bulk-grants/rules/sheet.ts";
import { markShardCount } from "../../src/due/ports/due.ts";
import { leastReservationShards, reservationShardCounts } from "../../src/points/rules/program.ts";
import {
  actions,
  bulkGrantActions,
  idleDayActions,
  passesPerDay,
  reservationBytesAsleep,
  sweepReadsPerDay,
} from "./actions.ts";
import { daysPerMonth, hoursPerMonth, prices } from "./prices.ts";
import {
  assumed,
  costs,
  idlePassReads,
  idleSweepReads,
  limits,
  measured,
  stored,
} from "./units.ts";

export interface Load {
  /** Calls a second, as the average of a month. */
  readonly grants: number;
  readonly uses: number;
  readonly balances: number;
  readonly likes: number;
  readonly notifies: number;
  readonly reads: number;
  /** Accounts with points. */
  readonly members: number;
  /** Reservations that are due in one minute, once a day. */
  readonly reservations: number;
  /** Rows of bulk grants a month. */
  readonly rows: number;
  /** Owners with an open stream. */
  readonly watchers: number;
}

/** The settings of the processes, from environment variables. */
export interface Settings {
  readonly bulkRowsPerSecond: number;
  readonly sweepChangesPerSecond: number;
  readonly maxStreams: number;
  /** Whether changes are announced by Valkey or Redis. */
  readonly announced: boolean;
  /** Grants that one worker holds at a time, and for how long on average, in seconds. */
  readonly heldGrants: number;
  readonly leadSeconds: number;
}

interface Units {
  readonly writes: number;
  readonly reads: number;
}

const secondsPerMonth = hoursPerMonth * 3_600;
const secondsPerDay = 86_400;

/** A campaign of this many rows is the measure for its actions. */
const sheetRows = 10_000;

const add = (parts: readonly Units[]): Units => ({
  writes: parts.reduce((sum, { writes }) => sum + writes, 0),
  reads: parts.reduce((sum, { reads }) => sum + reads, 0),
});

export const times = ({ writes, reads }: Units, count: number): Units => ({
  writes: writes * count,
  reads: reads * count,
});

/** Calls of CreateReservation a second: what is due in one minute is reserved all day. */
const reserves = ({ reservations }: Load): number => reservations / secondsPerDay;

/** Units a second by calls and watchers. */
export function steadyUnits(load: Load, { announced }: Settings): Units {
  const perHour = announced ? measured.announcedWatcherReads : measured.watcherReads;
  return add([
    times(costs.grant, load.grants),
    times(costs.use, load.uses),
    times(costs.balance, load.balances),
    times(costs.like, load.likes),
    times(costs.notify, load.notifies),
    times(costs.read, load.reads),
    times(costs.reserve, reserves(load)),
    { writes: 0, reads: (load.watchers * perHour) / 3_600 },
  ]);
}

/** Reservations that become due a second, in their minute. */
const dueRate = ({ reservations }: Load): number => reservations / 60;

/** Units a second in the minute in which the reservations are due. */
export const dueUnits = (load: Load): Units => times(costs.execute, dueRate(load));

/** The least number of shards of one program that takes the reservations that are due. */
export const shardsFor = (load: Load): number =>
  reservationShardCounts.find((count) => count * limits.partitionWrites >= dueRate(load)) ??
  (reservationShardCounts.at(-1) as number);

/** Units of a month. Each member has points that expire at its end. */
export const monthUnits = (load: Load, settings: Settings): Units =>
  add([
    times(steadyUnits(load, settings), secondsPerMonth),
    times(costs.execute, load.reservations * daysPerMonth),
    { writes: load.rows * measured.rowWrites, reads: load.rows },
    times(costs.expire, load.members),
    { writes: 0, reads: idleMonthReads(load, settings) },
  ]);

/** Read units of a month that the reconciler and the sweeps of workers take with nothing due. */
export const idleMonthReads = (load: Load, settings: Settings): number =>
  daysPerMonth *
  (idlePassReads * passesPerDay + workers(load, settings) * idleSweepReads * sweepReadsPerDay);

/**
 * GB that a month adds to the tables and their indexes; ledgers and event keys stay for good.
 * Notifications, which are deleted in time, and the blocks of bulk rows are left out.
 */
export const monthGb = ({ grants, uses, likes, reservations, rows }: Load): number =>
  (secondsPerMonth * (grants * stored.grant + uses * stored.use + likes * stored.like) +
    reservations * daysPerMonth * (stored.reserve + stored.execute) +
    rows * stored.grant) /
  1e9;

/** GB after a year. */
export const yearGb = (load: Load): number =>
  12 * monthGb(load) + (load.members * stored.member) / 1e9;

/** Partitions that so many units a second need, if no key is hot. */
export const partitions = ({ writes, reads }: Units): number =>
  Math.max(1, Math.ceil(writes / limits.partitionWrites), Math.ceil(reads / limits.partitionReads));

const callsOf = (load: Load): number =>
  load.grants +
  load.uses +
  load.balances +
  load.likes +
  load.notifies +
  load.reads +
  reserves(load);

/** vCPUs for so many calls or rows a second, each with this CPU time. */
export const vcpus = (perSecond: number, cpuMs: number): number =>
  Math.ceil((perSecond * cpuMs) / 1_000 / assumed.cpuShare);

/** Servers of one vCPU, two at least. */
export const servers = (load: Load, { maxStreams }: Settings): number =>
  Math.max(2, vcpus(callsOf(load), assumed.callCpuMs), Math.ceil(load.watchers / maxStreams));

/** Grants that all workers hold while they wait for their time. */
export const heldGrants = ({ reservations }: Load, { leadSeconds }: Settings): number =>
  (reservations / 60) * leadSeconds;

/** Workers of one vCPU, two at least. */
export const workers = (load: Load, settings: Settings): number =>
  Math.max(
    2,
    Math.ceil(load.reservations / 60 / assumed.grantsPerWorker),
    Math.ceil(heldGrants(load, settings) / settings.heldGrants),
  );

/** MB of one server, and of one worker. */
export function memoryMb(load: Load, settings: Settings) {
  const streams = load.watchers / servers(load, settings);
  const held = heldGrants(load, settings) / workers(load, settings);
  return {
    server: assumed.processMb + (streams * measured.streamKb) / 1_000,
    worker: assumed.processMb + (held * measured.heldGrantKb) / 1_000,
  };
}

/** Temporal's actions of a month, with one program, and a second when reservations are due. */
export function temporalActions(load: Load, settings: Settings) {
  const idle = idleDayActions({ programs: 1, withNotices: 0, pickUps: 0 });
  const sheets = load.rows / sheetRows;
  const daily = load.reservations * actions.reservation;
  return {
    month:
      (idle.reconciler + idle.monthEnds + daily) * daysPerMonth +
      sheets * bulkGrantActions(sheetRows, settings.bulkRowsPerSecond),
    due: (load.reservations / 60) * actions.reservationDue,
  };
}

/** Dollars of units on demand. */
export const onDemandDollars = ({ writes, reads }: Units): number =>
  (writes * prices.millionWriteUnits + reads * prices.millionReadUnits) / 1e6;

/** Dollars of DynamoDB a month: for units on demand or provisioned, and for what is stored. */
export function dynamoDollars(load: Load, settings: Settings) {
  const steady = steadyUnits(load, settings);
  const hours = hoursPerMonth / assumed.provisionedShare;
  return {
    onDemand: onDemandDollars(monthUnits(load, settings)),
    /** Calls and watchers only: what comes in bursts is not provisioned for. */
    provisioned:
      hours * (steady.writes * prices.writeUnitHour + steady.reads * prices.readUnitHour),
    storage: yearGb(load) * (prices.storedGb + prices.recoverableGb),
  };
}

/** The least GB of memory that Fargate gives one vCPU. */
const leastGb = 2;

/** Dollars of servers and workers a month, each with one vCPU and whole GB of memory. */
export function processDollars(load: Load, settings: Settings): number {
  const memory = memoryMb(load, settings);
  const gb = (mb: number) => Math.max(leastGb, Math.ceil((2 * mb) / 1_024));
  const hour = (mb: number) => prices.vcpuHour + gb(mb) * prices.memoryGbHour;
  const perHour =
    servers(load, settings) * hour(memory.server) + workers(load, settings) * hour(memory.worker);
  return hoursPerMonth * perHour;
}

/** GB and hours in which a number of reservations sleep in Temporal. */
const asleepGbHours = (reservations: number): number =>
  (reservations * reservationBytesAsleep * assumed.daysAhead * 24) / 1e9;

/** GB and hours of a month in which the reservations of its days sleep. */
export const monthGbHours = ({ reservations }: Load): number =>
  asleepGbHours(reservations * daysPerMonth);

/** Dollars of Temporal Cloud a month, with its plan and without what it keeps of closed runs. */
export function temporalDollars(monthActions: number, activeGbHours: number): number {
  const storage = Math.max(0, activeGbHours - prices.includedActiveGbHours) * prices.activeGbHour;
  let left = Math.max(0, monthActions / 1e6 - prices.includedActions);
  let dollars = storage;
  let from = 0;
  for (const [upTo, price] of prices.actionTiers) {
    const part = Math.min(left, upTo - from);
    dollars += part * price;
    left -= part;
    from = upTo;
  }
  return dollars + Math.max(prices.temporalPlan, prices.temporalPlanShare * dollars);
}

/** Dollars of actions at the price of the first ones, without a plan. */
const actionDollars = (count: number): number => (count / 1e6) * prices.actionTiers[0][1];

/** The costs of a day's reservations, and of the same grants as rows of bulk grants. */
export function alternatives(load: Load, settings: Settings) {
  const { reservations: count } = load;
  const units = add([costs.reserve, costs.execute]);
  const sheets = Math.ceil(count / maxRows);
  const rows = count / Math.max(1, sheets);
  const { bulkRowsPerSecond: rate } = settings;
  const ranges = sheets * rangeCount(Math.ceil(rows / rowsPerBlock));
  const runs = count * actions.reservation;
  return {
    reserved: onDemandDollars(times(units, count)) + actionDollars(runs),
    asleep: asleepGbHours(count) * prices.activeGbHour,
    sheets,
    bulk:
      onDemandDollars({ writes: count * measured.rowWrites, reads: count }) +
      actionDollars(sheets * bulkGrantActions(rows, rate)),
    /** From the execute time to the last row, on the workers that the load has. */
    bulkSeconds: count / (rate * Math.max(1, Math.min(workers(load, settings), ranges))),
  };
}

/** Grants a second, all month, at which DynamoDB costs as much as a Postgres in two zones. */
export function postgresBreakEven() {
  const month = prices.postgresHour * hoursPerMonth;
  const { writes, reads } = costs.grant;
  const provisioned = (writes * prices.writeUnitHour + reads * prices.readUnitHour) * hoursPerMonth;
  return {
    month,
    onDemand: month / (onDemandDollars(costs.grant) * secondsPerMonth),
    provisioned: (month * assumed.provisionedShare) / provisioned,
  };
}

/** Units of the mark of a reservation: it is put, and deleted when its run has started. */
const markWrites = 2;

/** A limit, how much of it is used, and what raises it. */
interface LimitUse {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
  readonly raisedBy: string;
}

/**
 * The limits that AWS and Temporal set, the one that is met first in front. The limits of one table
 * are compared with the units of all tables together, which is pessimistic.
 */
export function limitUses(load: Load, settings: Settings): LimitUse[] {
  const { writes, reads } = add([steadyUnits(load, settings), dueUnits(load)]);
  const uses: LimitUse[] = [
    {
      name: "write units a second of a new table",
      used: writes,
      limit: limits.newTableWrites,
      raisedBy: "warm throughput",
    },
    {
      name: "read units a second of a new table",
      used: reads,
      limit: limits.newTableReads,
      raisedBy: "warm throughput",
    },
    {
      name: "write units a second of a table's quota",
      used: writes,
      limit: limits.tableWrites,
      raisedBy: "AWS Service Quotas",
    },
    {
      name: "read units a second of a table's quota",
      used: reads,
      limit: limits.tableReads,
      raisedBy: "AWS Service Quotas",
    },
    {
      name: "actions a second of a Temporal namespace",
      used: temporalActions(load, settings).due,
      limit: limits.actionsPerSecond,
      raisedBy: "provisioned capacity of the namespace",
    },
    {
      name: `due reservations a second of a program with ${leastReservationShards} shards`,
      used: dueRate(load),
      limit: leastReservationShards * limits.partitionWrites,
      raisedBy: "reservation_shard_count",
    },
    {
      name: "changes of reservations a second, by the keys of their marks",
      used: reserves(load),
      limit: (markShardCount * limits.partitionWrites) / markWrites,
      raisedBy: "no setting",
    },
  ];
  return uses.toSorted((a, b) => b.used / b.limit - a.used / a.limit);
}

export function formatTime(seconds: number): string {
  const hours = seconds / 3_600;
  if (hours >= 1.5) return `${hours.toPrecision(2)} hours`;
  return `${(seconds / 60).toPrecision(2)} minutes`;
}
