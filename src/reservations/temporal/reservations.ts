/** Starts, signals and cancels the workflows of reservations, and lists those of holds as well. */

import { randomUUID } from "node:crypto";
import type { WorkflowStartOptions } from "@temporalio/client";
import { holdOf, holdWorkflowId } from "../../holds/contract/holds.ts";
import { refreshSignal } from "../../platform/contract/record-runs.ts";
import { searchAttributes as names } from "../../platform/contract/search-attributes.ts";
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
import { displayCaller, withActor } from "../../platform/words/caller.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import { formatInstant, formatMonth } from "../../platform/words/month.ts";
import { quantity } from "../../platform/words/quantities.ts";
import type { ReservationInput } from "../contract/payloads.ts";
import {
  drawLeadMs,
  reservationHowToEnd,
  reservationOf,
  reservationWorkflowId,
} from "../contract/reservations.ts";
import type { RecordRun, Workflows } from "../ports/deps.ts";
import type { Reservation } from "../rules/reservation.ts";

type Port = Pick<
  Workflows,
  | "startReservation"
  | "refreshReservation"
  | "cancelReservationRun"
  | "refreshPaused"
  | "countPaused"
  | "brokenRuns"
  | "overdueRuns"
  | "terminateRun"
>;

type Start = (input: ReservationInput) => Promise<unknown>;

const isReservation = `WorkflowType = "${workflowTypes.reservation}"`;

const followsRecord = `WorkflowType IN ("${workflowTypes.reservation}", "${workflowTypes.hold}")`;

const pausedRuns = (programId: string) =>
  `${isReservation} AND ${names.program} = "${programId}" AND ${names.state} = "PAUSED"` +
  ' AND ExecutionStatus = "Running"';

export function createReservationRuns(link: Link): Port {
  const { client, connection, namespace } = link;
  return {
    async startReservation(reservation, timeZone, now) {
      const startDelay = Math.max(0, Math.floor(reservation.executeTime - now - drawLeadMs()));
      const options = { ...startOptions(link, reservation, timeZone), startDelay };
      await link.call(() => client.workflow.start<Start>(workflowTypes.reservation, options));
    },

    // A signal that comes with a start ends the delay of a run that has not begun.
    async refreshReservation(reservation, timeZone) {
      const options = { ...startOptions(link, reservation, timeZone), signal: refreshSignal };
      await link.call(() =>
        client.workflow.signalWithStart<Start>(workflowTypes.reservation, options),
      );
    },

    cancelReservationRun: ({ programId, reservationId }) =>
      link.call(() =>
        unlessEnded(
          client.workflow.getHandle(reservationWorkflowId(programId, reservationId)).cancel(),
        ),
      ),

    async refreshPaused(programId, reason) {
      await link.call(() =>
        connection.workflowService.startBatchOperation({
          namespace,
          jobId: randomUUID(),
          visibilityQuery: pausedRuns(programId),
          reason,
          signalOperation: { signal: refreshSignal },
        }),
      );
    },

    async countPaused(programId) {
      const { count } = await link.call(() => client.workflow.count(pausedRuns(programId)));
      return count;
    },

    brokenRuns: (since) =>
      list(
        link,
        `${followsRecord} AND ExecutionStatus IN ("Terminated", "TimedOut", "Failed", "Canceled")` +
          ` AND CloseTime >= "${new Date(since).toISOString()}"`,
      ),

    overdueRuns: (before) =>
      list(
        link,
        `${followsRecord} AND ExecutionStatus = "Running"` +
          ` AND (${names.state} IS NULL OR ${names.state} != "PAUSED")` +
          ` AND ${names.executeTime} < "${new Date(before).toISOString()}"`,
      ),

    terminateRun: (run, reason) =>
      link.call(() =>
        unlessEnded(client.workflow.getHandle(workflowIdOf(run), run.runId).terminate(reason)),
      ),
  };
}

/** Lists the runs of a query. Throws WORKFLOWS_UNAVAILABLE when Temporal does not answer. */
async function* list(link: Link, query: string): AsyncGenerator<RecordRun, void> {
  const runs = link.client.workflow.list({ query })[Symbol.asyncIterator]();
  for (;;) {
    const next = await link.call(() => runs.next());
    if (next.done) return;
    const { workflowId, runId, startTime } = next.value;
    const name = reservationOf(workflowId) ?? holdOf(workflowId);
    if (name) yield { ...name, runId, startTime: startTime.getTime() };
  }
}

const workflowIdOf = (run: RecordRun): string =>
  "holdId" in run
    ? holdWorkflowId(run.programId, run.holdId)
    : reservationWorkflowId(run.programId, run.reservationId);

/**
 * Says each thing once, because all of it is stored until the execute time: the input has what
 * never changes, which the workflow shows in its current details.
 */
function startOptions({ taskQueue }: Link, reservation: Reservation, timeZone: string) {
  const { programId, reservationId, userId, points, reason, cause, creator, executeTime } =
    reservation;
  const { traceparent, expiry, lastChange } = reservation;
  const { expireMonth, expireAfterMonths } = expiry ?? {};
  // Of a run that is started again, such as by a retry.
  const actors = [creator, ...(lastChange ? [lastChange.caller] : [])].reduce<readonly string[]>(
    withActor,
    [],
  );
  const input: ReservationInput = {
    program_id: programId,
    reservation_id: reservationId,
    user_id: userId,
    points,
    execute_time_at_start: formatInstant(executeTime, timeZone),
    expire_month: expireMonth === undefined ? undefined : formatMonth(expireMonth),
    expire_after_months: expireAfterMonths,
    reason: reason || undefined,
    cause: cause || undefined,
    reserved_by: displayCaller(creator),
    traceparent,
  };
  const options: WorkflowStartOptions<Start> = {
    workflowId: reservationWorkflowId(programId, reservationId),
    taskQueue,
    args: [input],
    // A run that has not begun shows only these, and what else was reserved as its input.
    staticSummary: escapeMarkdown(
      `${quantity(points, "point")} for ${userId}, reserved for ${input.execute_time_at_start}`,
    ),
    staticDetails: reservationHowToEnd,
    // The record makes an id unique for good, so Temporal, which forgets closed runs, need not.
    workflowIdConflictPolicy: "USE_EXISTING",
    workflowIdReusePolicy: "ALLOW_DUPLICATE",
    // Without a state: the status of the run says whether it waits or has granted.
    typedSearchAttributes: [
      { key: programKey, value: programId },
      { key: userKey, value: userId },
      { key: pointsKey, value: points },
      { key: callerKey, value: creator.service },
      { key: actorKey, value: [...actors] },
      { key: executeTimeKey, value: new Date(executeTime) },
    ],
  };
  return options;
}
