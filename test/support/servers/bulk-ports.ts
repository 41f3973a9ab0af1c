/** The ports of bulk grants without Slack, sources and streams. */
import type { BulkGrantReport, Reporter } from "../../../src/app/ports/bulk-grants.ts";
import type { Deps } from "../../../src/app/ports/deps.ts";
import { DomainError } from "../../../src/domain/errors.ts";

/** A reporter that sends nothing and keeps the reports. */
interface RecordingReporter extends Reporter {
  readonly reports: BulkGrantReport[];
}

export function recordReports(): RecordingReporter {
  const reports: BulkGrantReport[] = [];
  return {
    reports,
    async send(report) {
      reports.push(report);
    },
  };
}

/** Streams of which none is ever opened, no sources, one day to a reminder and seven to expiry. */
export const bulkPorts: Pick<
  Deps,
  "bulkGrantStreams" | "bulkSources" | "approvalTimes" | "awaitRowSlot"
> = {
  bulkGrantStreams: {
    watch: () => {
      throw new Error("there are no streams of bulk grants here");
    },
    drain: () => undefined,
    close: () => undefined,
  },
  bulkSources: {
    open: async (source) => {
      throw new DomainError("INVALID_REQUEST", `there is no source ${source}`);
    },
    pickUps: [],
    listNew: async () => ({ items: [] }),
    move: async () => undefined,
    writeFailures: async () => undefined,
    urlOf: () => undefined,
  },
  approvalTimes: { reminderMs: 86_400_000, expiryMs: 604_800_000 },
  awaitRowSlot: async () => undefined,
};
