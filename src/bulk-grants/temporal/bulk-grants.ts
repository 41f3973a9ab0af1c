/** Starts and signals the workflows of bulk grants, and their schedules for new files. */

import type { WorkflowStartOptions } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import type { Link } from "../../platform/temporal/connection.ts";
import { ensureSchedule } from "../../platform/temporal/ensure-schedule.ts";
import {
  actorKey,
  callerKey,
  executeTimeKey,
  pointsKey,
  programKey,
  stateKey,
} from "../../platform/temporal/search-attributes.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import { quantity } from "../../platform/words/quantities.ts";
import {
  bulkGrantHowToEnd,
  bulkGrantWorkflowId,
  bulkRefreshSignal,
} from "../contract/bulk-grants.ts";
import type { BulkGrantInput } from "../contract/payloads.ts";
import { type PickUpInput, pickUpHowToEnd, pickUpId } from "../contract/sheet-sources.ts";
import type { PickUpSource } from "../ports/bulk-grants.ts";
import type { Workflows } from "../ports/deps.ts";
import { actorsOf, type BulkGrant, isRevocation } from "../rules/bulk-grant.ts";
import { requestText } from "../rules/bulk-grant-text.ts";

type Port = Pick<Workflows, "startBulkGrant" | "refreshBulkGrant">;

type Start = (input: BulkGrantInput) => Promise<unknown>;

const hourMs = 3_600_000;

export function createBulkGrantRuns(link: Link): Port {
  const { workflow } = link.client;
  return {
    async startBulkGrant(bulkGrant) {
      const options = startOptions(link, bulkGrant);
      await link.call(() => workflow.start<Start>(workflowTypes.bulkGrant, options));
    },

    async refreshBulkGrant(bulkGrant) {
      const options = { ...startOptions(link, bulkGrant), signal: bulkRefreshSignal };
      await link.call(() => workflow.signalWithStart<Start>(workflowTypes.bulkGrant, options));
    },
  };
}

/**
 * Ensures the schedule that picks up the new files of a source. While a pick-up is under way, the
 * next one is skipped; a missed one is caught up within an hour, because the one after it takes the
 * same files.
 */
export async function ensurePickUp(
  link: Link,
  { name, programId, cron, timeZone }: PickUpSource,
): Promise<void> {
  await ensureSchedule(link, {
    scheduleId: pickUpId(name),
    spec: { cronExpressions: [cron], timezone: timeZone },
    policies: { overlap: "SKIP", catchupWindow: hourMs, pauseOnFailure: false },
    action: {
      type: "startWorkflow",
      workflowType: workflowTypes.pickUpSheets,
      workflowId: pickUpId(name),
      taskQueue: link.taskQueue,
      args: [{ source_name: name, program_id: programId }] satisfies [PickUpInput],
      staticSummary: escapeMarkdown(
        `submit new files of ${name} to ${programId} (${cron}, ${timeZone})`,
      ),
      staticDetails: pickUpHowToEnd,
      typedSearchAttributes: new TypedSearchAttributes([{ key: programKey, value: programId }]),
    },
  });
}

/** What a run does, as lists of workflows show it. */
function summaryOf({ revision }: BulkGrant): string {
  const { title, totalPoints, rowCount, request } = revision;
  const requested = requestText(revision, { value: (text) => text });
  if (request && requested) return request.reason ? `${requested}: ${request.reason}` : requested;
  const named = title === undefined ? "" : `${title}: `;
  const verb = isRevocation(revision) ? "revoke" : "grant";
  return `${named}${verb} ${quantity(totalPoints, "point")} in ${quantity(rowCount, "row")}`;
}

function startOptions({ taskQueue }: Link, bulkGrant: BulkGrant): WorkflowStartOptions<Start> {
  const { programId, bulkGrantId, revision, state } = bulkGrant;
  const { totalPoints, executeTime, submitter } = revision;
  const summary = summaryOf(bulkGrant);
  return {
    workflowId: bulkGrantWorkflowId(programId, bulkGrantId),
    taskQueue,
    args: [{ program_id: programId, bulk_grant_id: bulkGrantId }],
    // The record makes an id unique for good, so Temporal, which forgets closed runs, need not.
    workflowIdConflictPolicy: "USE_EXISTING",
    workflowIdReusePolicy: "ALLOW_DUPLICATE",
    staticSummary: escapeMarkdown(summary),
    staticDetails: bulkGrantHowToEnd,
    // A run that continues as new loses its summary and details, but keeps its memo.
    memo: { summary },
    typedSearchAttributes: [
      { key: programKey, value: programId },
      { key: stateKey, value: state },
      { key: pointsKey, value: totalPoints },
      { key: callerKey, value: submitter.service },
      { key: actorKey, value: [...actorsOf(bulkGrant)] },
      ...(executeTime === undefined ? [] : [{ key: executeTimeKey, value: new Date(executeTime) }]),
    ],
  };
}
