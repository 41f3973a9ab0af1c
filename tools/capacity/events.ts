/** What it costs to make events of changes, and to follow them (docs/run/capacity.md). */
import { onDemandDollars } from "./formulas.ts";
import { hoursPerMonth, prices } from "./prices.ts";
import { ofEvents } from "./units.ts";

interface EventCosts {
  /** Requests for records of streams a second. */
  readonly streamReads: number;
  /** Write units a second of the log. */
  readonly writes: number;
  /** Read units a second of one process that follows the log. */
  readonly reads: number;
}

/** The costs of so many changes a second that are events, spread over all shards. */
export function eventCosts(changes: number): EventCosts {
  const { shards, polls, appends, eventBytes, positions, positionBytes, logPolls } = ofEvents;
  const batches = Math.min(changes, appends);
  const bytes = (batches && (changes * eventBytes) / batches) + positions * positionBytes;
  return {
    streamReads: shards * polls,
    writes: batches * Math.ceil(bytes / 1_024),
    // Of each batch, and of the last one again and again. DynamoDB bills whole items.
    reads: (batches + logPolls) * Math.ceil(bytes / 4_096),
  };
}

const secondsPerMonth = hoursPerMonth * 3_600;

/** Dollars of a month. */
export function eventDollars(changes: number) {
  const { streamReads, writes, reads } = eventCosts(changes);
  return {
    streams: (streamReads * secondsPerMonth * prices.millionStreamReads) / 1e6,
    log: onDemandDollars({ writes: writes * secondsPerMonth, reads: 0 }),
    reader: onDemandDollars({ writes: 0, reads: reads * secondsPerMonth }),
  };
}

const shown = (number: number): string => Math.round(number).toLocaleString("en");

/** The table of docs/run/capacity.md. */
export function eventTable(): string {
  const rows = [0, 7, 70, 700].map((changes) => {
    const { streamReads, writes, reads } = eventCosts(changes);
    const { streams, log, reader } = eventDollars(changes);
    const units = [changes, streamReads, writes, reads].map(shown);
    const dollars = [streams, log, reader].map((each) => `$${shown(each)}`);
    return `| ${[...units, ...dollars].join(" | ")} |`;
  });
  const names = [
    "changes a second",
    "requests of streams a second",
    "write units of the log",
    "read units of a reader",
    "streams a month",
    "log a month",
    "each reader a month",
  ];
  return [`| ${names.join(" | ")} |`, "|---|---|---|---|---|---|---|", ...rows].join("\n");
}
