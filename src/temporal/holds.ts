/** Starts and signals the workflows of holds. */
import type { WorkflowStartOptions } from "@temporalio/client";
import type { Workflows } from "../app/ports/workflows.ts";
import { type HoldInput, holdWorkflowId } from "../contract/holds.ts";
import { refreshSignal } from "../contract/reservations.ts";
import { workflowTypes } from "../contract/workflow-types.ts";
import { displayCaller } from "../domain/caller.ts";
import { type Hold, pointsOf } from "../domain/hold.ts";
import { formatInstant } from "../domain/month.ts";
import type { Link } from "./connection.ts";
import { unlessEnded } from "./reservations.ts";
import { callerKey, executeTimeKey, pointsKey, programKey, userKey } from "./search-attributes.ts";

type Start = (input: HoldInput) => Promise<unknown>;

export function createHoldRuns(link: Link): Pick<Workflows, "startHold" | "refreshHold"> {
  const { workflow } = link.client;
  return {
    async startHold(hold, timeZone) {
      const options = startOptions(link, hold, timeZone);
      await link.call(() => workflow.start<Start>(workflowTypes.hold, options));
    },

    refreshHold: ({ programId, holdId }) =>
      link.call(() =>
        unlessEnded(workflow.getHandle(holdWorkflowId(programId, holdId)).signal(refreshSignal)),
      ),
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
    ...(reason && { reason }),
    ...(cause && { cause }),
    held_by: displayCaller(creator),
  };
  const options: WorkflowStartOptions<Start> = {
    workflowId: holdWorkflowId(programId, holdId),
    taskQueue,
    args: [input],
    // The record makes an id unique for good, so Temporal, which forgets closed runs, need not.
    workflowIdConflictPolicy: "USE_EXISTING",
    workflowIdReusePolicy: "ALLOW_DUPLICATE",
    typedSearchAttributes: [
      { key: programKey, value: programId },
      { key: userKey, value: userId },
      { key: pointsKey, value: points },
      { key: callerKey, value: creator.service },
      { key: executeTimeKey, value: new Date(until) },
    ],
  };
  return options;
}
