/** Starts exports of ledgers, and reads their progress and results. */
import { WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import type { Link } from "../../platform/temporal/connection.ts";
import { readProgress } from "../../platform/temporal/query-progress.ts";
import { programKey } from "../../platform/temporal/search-attributes.ts";
import { type Caller, displayCaller } from "../../platform/words/caller.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import {
  type ExportAsked,
  type ExportLedgerInput,
  type ExportReport,
  emptyExport,
  exportQuery,
  exportWorkflowId,
} from "../contract/exports.ts";
import type { Workflows } from "../ports/deps.ts";
import type { ExportName, LedgerExport } from "../ports/exports.ts";

type Port = Pick<Workflows, "startExport" | "ledgerExport">;

type Start = (input: ExportLedgerInput) => Promise<ExportReport>;

export function createExports(link: Link): Port {
  const { client, taskQueue } = link;
  return {
    async startExport({ programId, exportId, destination, window: { start, end }, caller }) {
      const asked: ExportAsked = {
        program_id: programId,
        export_id: exportId,
        destination,
        ...(start !== undefined && { create_time_from: start }),
        create_time_before: end,
      };
      await link.call(async () => {
        try {
          await client.workflow.start<Start>(workflowTypes.exportLedger, {
            workflowId: exportWorkflowId(programId, exportId),
            taskQueue,
            args: [asked],
            workflowIdConflictPolicy: "USE_EXISTING",
            workflowIdReusePolicy: "ALLOW_DUPLICATE_FAILED_ONLY",
            staticSummary: escapeMarkdown(summaryOf(asked, caller)),
            memo: { asked, caller },
            typedSearchAttributes: [{ key: programKey, value: programId }],
          });
        } catch (error) {
          // It has completed meanwhile.
          if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        }
      });
    },
    ledgerExport: (name) => link.call(() => ledgerExport(link, name)),
  };
}

function summaryOf(asked: ExportAsked, caller: Caller) {
  const { program_id, destination, create_time_from, create_time_before } = asked;
  const from = create_time_from === undefined ? "the first one" : timeOf(create_time_from);
  const range = `from ${from} to ${timeOf(create_time_before)}`;
  const what = `export the ledger entries of ${program_id} ${range} to ${destination}`;
  return `${what}, for ${displayCaller(caller)}`;
}

const timeOf = (ms: number): string => new Date(ms).toISOString();

async function ledgerExport(
  link: Link,
  { programId, exportId }: ExportName,
): Promise<LedgerExport | undefined> {
  const workflowId = exportWorkflowId(programId, exportId);
  const run = await readProgress(link, workflowId, exportQuery, emptyExport);
  // A run that was started by hand has no memo, and is no export of the API.
  const asked = run?.memo?.asked as ExportAsked | undefined;
  const caller = run?.memo?.caller as Caller | undefined;
  if (!run || !asked || !caller) return undefined;
  const { startTime, state, report } = run;
  return {
    ...{ programId, exportId, workflowId, caller, startTime, state },
    destination: asked.destination,
    window: { start: asked.create_time_from, end: asked.create_time_before },
    ...toCounts(report),
  };
}

const toCounts = ({ unreadables, ...counts }: ExportReport) => ({
  ...counts,
  unreadables: unreadables.map(({ user_id: userId, number }) => ({ userId, number })),
});
