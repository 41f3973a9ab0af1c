/** The ports of bulk grants without Slack, sources and streams. */
import type {
  BulkGrantReport,
  PickUpReport,
  Reporter,
} from "../../../src/bulk-grants/ports/bulk-grants.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { RuleChangeReport } from "../../../src/points/ports/programs.ts";

/** A reporter that sends nothing and keeps the reports. */
interface RecordingReporter extends Reporter {
  readonly reports: BulkGrantReport[];
  readonly ruleChanges: RuleChangeReport[];
  readonly pickUps: PickUpReport[];
}

export function recordReports(): RecordingReporter {
  const reports: BulkGrantReport[] = [];
  const ruleChanges: RuleChangeReport[] = [];
  const pickUps: PickUpReport[] = [];
  return {
    reports,
    ruleChanges,
    pickUps,
    async send(report) {
      reports.push(report);
    },
    async sendRuleChange(report) {
      ruleChanges.push(report);
    },
    async sendPickUp(report) {
      pickUps.push(report);
    },
  };
}

/** Streams of which none is ever opened, no sources, one day to a reminder and seven to expiry. */
export const bulkPorts: Pick<
  WorkerDeps,
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
    listNew: async () => ({ items: [] }),
    move: async () => undefined,
    writeErrors: async ({ source }) => ({ name: source }),
  },
  approvalTimes: { reminderMs: 86_400_000, expiryMs: 604_800_000 },
  awaitRowSlot: async () => undefined,
};
