/** Starts and signals the workflows of holds. */

import type { WorkflowStartOptions } from "@temporalio/client";
import { endsWithRecord } from "../../platform/contract/how-to-end.ts";
import { refreshSignal } from "../../platform/contract/record-runs.ts";
import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import type { Link } from "../../platform/temporal/connection.ts";
import {
  actorKey,
  callerKey,
  executeTimeKey,
  pointsKey,
  programKey,
  userKey,
} from "../../platform/temporal/search-attributes.ts";
import { unlessEnded } from "../../platform/temporal/unless-ended.ts";
import { displayCaller } from "../../platform/words/caller.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import { formatInstant } from "../../platform/words/month.ts";
import { quantity } from "../../platform/words/quantities.ts";
import { holdWorkflowId } from "../contract/holds.ts";
import type { HoldInput } from "../contract/payloads.ts";
import type { Workflows } from "../ports/deps.ts";
import { type Hold, pointsOf } from "../rules/hold.ts";

type Start = (input: HoldInput) => Promise<unknown>;

export function createHoldRuns(link: Link): Pick<Workflows, "startHold" | "refreshHold"> {
  const { workflow } = link.client;
  return {
    async startHold(hold, timeZone, now) {
      const startDelay = Math.max(0, hold.until - now);
      const options = {
        ...startOptions(link, hold, timeZone),
        startDelay,
        // A run that has completed has shown the end of the hold.
        ...(hold.state !== "HELD" &&
          ({ workflowIdReusePolicy: "ALLOW_DUPLICATE_FAILED_ONLY" } as const)),
      };
      await link.call(() => unlessEnded(workflow.start<Start>(workflowTypes.hold, options)));
    },

    // A signal that comes with a start ends the delay of a run that has not begun.
    async refreshHold(hold, timeZone) {
      const options = {
        ...startOptions(link, hold, timeZone),
        workflowIdReusePolicy: "REJECT_DUPLICATE",
        signal: refreshSignal,
      } as const;
      await link.call(() =>
        unlessEnded(workflow.signalWithStart<Start>(workflowTypes.hold, options)),
      );
    },
  };
}

/** As of reservations: the input has what never changes, and the status of the run the state. */
function startOptions({ taskQueue }: Link, hold: Hold, timeZone: string) {
  const { programId, holdId, userId, reason, cause, creator, until } = hold;
  const points = pointsOf(hold);
  const input: HoldInput = {
    program_id: programId,
    hold_id: holdId,
    user_id: userId,
    points,
    until: formatInstant(until, timeZone),
    reason: reason || undefined,
    cause: cause || undefined,
    held_by: displayCaller(creator),
  };
  const options: WorkflowStartOptions<Start> = {
    workflowId: holdWorkflowId(programId, holdId),
    taskQueue,
    args: [input],
    // A run that has not begun shows only these, and what else was held as its input.
    staticSummary: escapeMarkdown(
      `${quantity(points, "point")} of ${userId}, held until ${input.until}`,
    ),
    staticDetails: endsWithRecord("releases the points"),
    // The record makes an id unique for good, so Temporal, which forgets closed runs, need not.
    workflowIdConflictPolicy: "USE_EXISTING",
    workflowIdReusePolicy: "ALLOW_DUPLICATE",
    typedSearchAttributes: [
      { key: programKey, value: programId },
      { key: userKey, value: userId },
      { key: pointsKey, value: points },
      { key: callerKey, value: creator.service },
      { key: actorKey, value: [creator.subject] },
      { key: executeTimeKey, value: new Date(until) },
    ],
  };
  return options;
}
