/** The metrics of the process that writes the log of events. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Milliseconds } from "../../platform/words/units.ts";
import { type StreamedTable, streamedTables } from "../ports/changes.ts";

export interface WriterMetrics {
  onWriting(isWriting: boolean): void;
  onAppended(table: StreamedTable, events: number): void;
  onUnreadable(table: StreamedTable): void;
  onGap(table: StreamedTable): void;
  onAppendFailed(): void;
}

/** `behindMs` says for how long changes may have waited, which only the writer knows. */
export function createWriterMetrics(
  registry: Registry,
  behindMs: () => Readonly<Record<StreamedTable, Milliseconds>>,
): WriterMetrics {
  let writes = false;
  const registers = [registry];
  const byTable = (name: string, help: string) => {
    const counter = new Counter({ name, help, labelNames: ["table"], registers });
    for (const table of streamedTables) counter.inc({ table }, 0);
    return counter;
  };
  const appended = byTable(
    "meguri_events_appended_total",
    "Events that this process has appended to the log.",
  );
  const unreadable = byTable(
    "meguri_events_unreadable_total",
    "Changes that could not be read, each of which is an event that says so.",
  );
  const gaps = byTable(
    "meguri_events_gaps_total",
    "Gaps that this process has found in the streams of a table.",
  );
  const failures = new Counter({
    name: "meguri_events_append_failures_total",
    help: "How often this process could not go on writing the log and began anew.",
    registers,
  });
  new Gauge({
    name: "meguri_events_writing",
    help: "1 in the process that writes the log of events, 0 in those that stand by.",
    registers,
    collect() {
      this.set(writes ? 1 : 0);
    },
  });
  new Gauge({
    name: "meguri_events_behind_seconds",
    help: "For how long changes of a table may have waited to be read, by the process that writes.",
    labelNames: ["table"],
    registers,
    collect() {
      this.reset();
      if (!writes) return;
      for (const [table, ms] of Object.entries(behindMs())) this.set({ table }, ms / 1_000);
    },
  });
  return {
    onWriting(isWriting) {
      writes = isWriting;
    },
    onAppended: (table, events) => appended.inc({ table }, events),
    onUnreadable: (table) => unreadable.inc({ table }),
    onGap: (table) => gaps.inc({ table }),
    onAppendFailed: () => failures.inc(),
  };
}
