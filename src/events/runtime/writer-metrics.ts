/** The metrics of the process that writes the log of events. */
import { Gauge } from "prom-client";
import { createCounter, createGauge } from "../../platform/ports/tallies.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { type StreamedTable, streamedTables } from "../ports/changes.ts";

/** A counter that has all tables from the start. */
function countByTable(name: string, help: string) {
  const counter = createCounter(name, help, ["table"]);
  for (const table of streamedTables) counter.inc({ table }, 0);
  return counter;
}

/** `behindMs` says for how long changes may have waited, which only the writer knows. */
export function createWriterMetrics(behindMs: () => Readonly<Record<StreamedTable, Milliseconds>>) {
  let isWriter = false;
  const behind = new Gauge({
    name: "meguri_events_behind_seconds",
    help: "For how long changes of a table may have waited to be read, by the process that writes.",
    labelNames: ["table"],
    registers: [],
    collect() {
      this.reset();
      if (!isWriter) return;
      for (const [table, ms] of Object.entries(behindMs())) this.set({ table }, ms / 1_000);
    },
  });
  const metrics = {
    appended: countByTable(
      "meguri_events_appended_total",
      "Events that this process has appended to the log.",
    ),
    unreadable: countByTable(
      "meguri_events_unreadable_total",
      "Changes that could not be read, each of which is an event that says so.",
    ),
    gaps: countByTable(
      "meguri_events_gaps_total",
      "Gaps that this process has found in the streams of a table.",
    ),
    failures: createCounter(
      "meguri_events_append_failures_total",
      "How often this process could not go on writing the log and began anew.",
    ),
    writing: createGauge(
      "meguri_events_writing",
      "1 in the process that writes the log of events, 0 in those that stand by.",
    ),
    behind,
  };
  return {
    metrics,
    onWriting(isWriting: boolean) {
      isWriter = isWriting;
      metrics.writing.set(isWriting ? 1 : 0);
    },
    onAppended: (table: StreamedTable, events: number) => metrics.appended.inc({ table }, events),
    onUnreadable: (table: StreamedTable) => metrics.unreadable.inc({ table }),
    onGap: (table: StreamedTable) => metrics.gaps.inc({ table }),
    onAppendFailed: () => metrics.failures.inc(),
  };
}

export type WriterMetrics = ReturnType<typeof createWriterMetrics>;
