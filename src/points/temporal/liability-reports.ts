/** Starts the runs that add up liability reports. */

import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import type { Link } from "../../platform/temporal/connection.ts";
import { programKey } from "../../platform/temporal/search-attributes.ts";
import { displayCaller } from "../../platform/words/caller.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import {
  type LiabilityReportInput,
  liabilityReportWorkflowId,
} from "../contract/liability-reports.ts";
import type { Workflows } from "../ports/deps.ts";

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
