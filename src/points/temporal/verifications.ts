/** Starts verifications of programs, and reads their progress and results. */

import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import type { Link } from "../../platform/temporal/connection.ts";
import { readProgress } from "../../platform/temporal/query-progress.ts";
import { programKey } from "../../platform/temporal/search-attributes.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import {
  emptyReport,
  reportQuery,
  type VerificationReport,
  type VerifyProgramInput,
  verifyWorkflowId,
} from "../contract/verifications.ts";
import type { Verification, VerifiedAccounts, Workflows } from "../ports/deps.ts";

type Port = Pick<Workflows, "startVerification" | "verification">;

type Start = (input: VerifyProgramInput) => Promise<VerificationReport>;

export function createVerifications(link: Link): Port {
  const { client, taskQueue } = link;
  return {
    async startVerification(programId, repair) {
      await link.call(() =>
        client.workflow.start<Start>(workflowTypes.verifyProgram, {
          workflowId: verifyWorkflowId(programId),
          taskQueue,
          args: [{ program_id: programId, ...(repair && { repair }) }],
          workflowIdConflictPolicy: "USE_EXISTING",
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          staticSummary: escapeMarkdown(
            `${repair ? "repair" : "verify"} the accounts of ${programId} by their ledgers`,
          ),
          memo: { repair },
          typedSearchAttributes: [{ key: programKey, value: programId }],
        }),
      );
    },
    verification: (programId) => link.call(() => verification(link, verifyWorkflowId(programId))),
  };
}

async function verification(link: Link, workflowId: string): Promise<Verification | undefined> {
  const run = await readProgress(link, workflowId, reportQuery, emptyReport);
  if (!run) return undefined;
  const { startTime, memo, state, report } = run;
  return { workflowId, startTime, repair: memo?.repair === true, ...toVerified(report), state };
}

const toVerified = (report: VerificationReport): VerifiedAccounts => {
  const { reports, failures, repaired = 0, ...counts } = report;
  return {
    ...counts,
    repaired,
    reports: reports.map(({ user_id: userId, ...report }) => ({ userId, ...report })),
    failures: failures.map(({ user_id: userId, reason }) => ({ userId, reason })),
  };
};
