/** Starts and signals the workflows of reservations. */
import { setTimeout as sleep } from "node:timers/promises";
import { WorkflowNotFoundError, type WorkflowStartOptions } from "@temporalio/client";
import type { Workflows } from "../app/ports/workflows.ts";
import {
  type ReservationInput,
  refreshSignal,
  reservationWorkflowId,
  workflowTypes,
} from "../contract.ts";
import { formatInstant } from "../domain/month.ts";
import type { Reservation } from "../domain/reservation.ts";
import type { Link } from "./connection.ts";
import { executeTimeKey, programKey, stateKey, userKey } from "./search-attributes.ts";

type Port = Pick<Workflows, "startReservation" | "signalRefresh">;

type Start = (input: ReservationInput) => Promise<unknown>;

/** How long to wait for a failed run to close, after which another one can start. */
const closingMs = 2_000;

export function createReservationRuns(link: Link): Port {
  const { client } = link;
  return {
    startReservation: (row, timeZone) =>
      newRun(row, async () => {
        const options = startOptions(link, row, timeZone);
        const handle = await link.call(() =>
          client.workflow.start<Start>(workflowTypes.reservation, options),
        );
        return handle.firstExecutionRunId;
      }),
    signalRefresh: (row, start, timeZone) =>
      start
        ? newRun(row, async () => {
            const options = { ...startOptions(link, row, timeZone), signal: refreshSignal };
            const handle = await link.call(() =>
              client.workflow.signalWithStart<Start>(workflowTypes.reservation, options),
            );
            return handle.signaledRunId;
          })
        : link.call(() => signal(link, row)),
  };
}

/**
 * Starts a run until it is another one than the run that failed the row: that run never tries again
 * and may not have closed yet.
 */
async function newRun(row: Reservation, start: () => Promise<string>): Promise<void> {
  const limit = performance.now() + closingMs;
  while ((await start()) === row.failedRunId && performance.now() < limit) await sleep(100);
}

/** Signals the run, if there is one: a run that starts later reads the row anyway. */
async function signal({ client }: Link, row: Reservation): Promise<void> {
  try {
    await client.workflow
      .getHandle(reservationWorkflowId(row.programId, row.reservationId))
      .signal(refreshSignal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

function startOptions({ taskQueue }: Link, row: Reservation, timeZone: string) {
  const { programId, reservationId, userId, points, executeTime } = row;
  const summary = `${points} points for ${userId} at ${formatInstant(executeTime, timeZone)}`;
  const options: WorkflowStartOptions<Start> = {
    workflowId: reservationWorkflowId(programId, reservationId),
    taskQueue,
    args: [{ program: programId, reservation: reservationId, user: userId, executeTime }],
    // The row makes an id unique for good, so Temporal, which forgets closed runs, need not.
    workflowIdConflictPolicy: "USE_EXISTING",
    workflowIdReusePolicy: "ALLOW_DUPLICATE",
    staticSummary: summary,
    staticDetails: details(row, timeZone),
    // A run that continues as new loses its summary and details, but keeps its memo.
    memo: { summary },
    typedSearchAttributes: [
      { key: programKey, value: programId },
      { key: userKey, value: userId },
      { key: executeTimeKey, value: new Date(executeTime) },
      { key: stateKey, value: "PENDING" },
    ],
  };
  return options;
}

/** The row as it was at the start of the run. It may have changed since. */
const details = (
  { programId, reservationId, userId, points, reason, caller, executeTime }: Reservation,
  timeZone: string,
) =>
  [
    `- reservation: ${reservationId}`,
    `- program: ${programId}`,
    `- user: ${userId}`,
    `- points: ${points}`,
    `- execute time: ${formatInstant(executeTime, timeZone)}`,
    `- reason: ${reason || "none given"}`,
    `- reserved by: ${caller}`,
  ].join("\n");
