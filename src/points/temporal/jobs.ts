/** Starts the workflows of jobs over all accounts, and reads how far they have come. */

import { WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import { camelCased } from "../../platform/contract/payload-names.ts";
import type { Link } from "../../platform/temporal/connection.ts";
import { queryOf } from "../../platform/temporal/query-progress.ts";
import { actorKey, programKey } from "../../platform/temporal/search-attributes.ts";
import { displayCaller } from "../../platform/words/caller.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import { type JobRunInput, jobHowToEnd, jobQuery, jobWorkflowId } from "../contract/jobs.ts";
import type { Workflows } from "../ports/deps.ts";

type Start = (input: JobRunInput) => Promise<object>;

export function createJobRuns(link: Link): Pick<Workflows, "startJob" | "jobProgress"> {
  const { client, taskQueue } = link;
  return {
    async startJob({ workflowType }, job, hasResult) {
      const { programId, kind, jobId, caller } = job;
      const summary = `${kind} ${jobId} of ${programId}, for ${displayCaller(caller)}`;
      const start = (workflowIdReusePolicy: "ALLOW_DUPLICATE" | "ALLOW_DUPLICATE_FAILED_ONLY") =>
        link.call(() =>
          client.workflow.start<Start>(workflowType, {
            workflowId: jobWorkflowId(job),
            taskQueue,
            args: [{ program_id: programId, job_id: jobId }],
            workflowIdConflictPolicy: "USE_EXISTING",
            workflowIdReusePolicy,
            staticSummary: escapeMarkdown(summary),
            staticDetails: jobHowToEnd,
            // A run that continues as new loses its summary and details, but keeps its memo.
            memo: { summary, request: job.request },
            typedSearchAttributes: [
              { key: programKey, value: programId },
              { key: actorKey, value: [caller.subject] },
            ],
          }),
        );
      try {
        await start("ALLOW_DUPLICATE_FAILED_ONLY");
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        // It has completed: a moment ago, or the record is one of a backup.
        if (!(await hasResult())) await start("ALLOW_DUPLICATE");
      }
    },

    async jobProgress({ nothing }, name) {
      const workflowId = jobWorkflowId(name);
      const found = await link.call(() => queryOf(link, workflowId, jobQuery, nothing as object));
      return { isRunning: found !== undefined, sum: camelCased<object>(found ?? nothing) };
    },
  };
}
