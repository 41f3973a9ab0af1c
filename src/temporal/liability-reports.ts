/** Starts the runs that add up liability reports. */
import type { Workflows } from "../app/ports/workflows.ts";
import {
  type LiabilityReportInput,
  liabilityReportWorkflowId,
} from "../contract/liability-reports.ts";
import { workflowTypes } from "../contract/workflow-types.ts";
import { displayCaller } from "../domain/caller.ts";
import { escapeMarkdown } from "../domain/markdown.ts";
import type { Link } from "./connection.ts";
import { programKey } from "./search-attributes.ts";

type Port = Pick<Workflows, "startLiabilityReport">;

type Start = (input: LiabilityReportInput) => Promise<unknown>;

export function createLiabilityReports(link: Link): Port {
  const { client, taskQueue } = link;
  return {
    async startLiabilityReport({ programId, reportId, caller }) {
      const summary = `liability report ${reportId} of ${programId}, for ${displayCaller(caller)}`;
      await link.call(() =>
        client.workflow.start<Start>(workflowTypes.liabilityReport, {
          workflowId: liabilityReportWorkflowId(programId, reportId),
          taskQueue,
          args: [{ program_id: programId, report_id: reportId }],
          workflowIdConflictPolicy: "USE_EXISTING",
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          staticSummary: escapeMarkdown(summary),
          // A run that continues as new loses its summary, but keeps its memo.
          memo: { summary },
          typedSearchAttributes: [{ key: programKey, value: programId }],
        }),
      );
    },
  };
}
