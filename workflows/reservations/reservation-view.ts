/** The view that operators have of a reservation's run: current details and search attributes. */
import { defineSearchAttributeKey } from "@temporalio/common";
import { upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";
import type { ChangeView } from "../../src/platform/contract/changes.ts";
import { searchAttributes } from "../../src/platform/contract/search-attributes.ts";
import { withActor } from "../../src/platform/words/caller.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import type { Points } from "../../src/platform/words/units.ts";
import type { ReservationInput } from "../../src/reservations/contract/payloads.ts";
import { isFinal, type ReservationStep } from "../../src/reservations/contract/reservations.ts";
import { byOf } from "../change-text.ts";
import { leftMsUntil } from "../inputs.ts";
import type { Run } from "./reservation-run.ts";

const pointsKey = defineSearchAttributeKey(searchAttributes.points, "INT");
const executeTimeKey = defineSearchAttributeKey(searchAttributes.executeTime, "DATETIME");
const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");
const actorKey = defineSearchAttributeKey(searchAttributes.actor, "KEYWORD_LIST");
const reasonKey = defineSearchAttributeKey(searchAttributes.reason, "KEYWORD");

/** Shows steps, and changes a search attribute only when its value has changed. */
export interface View {
  show(step: ReservationStep): void;
}

/** The values of a run that the list of workflows shows. */
interface Listed {
  readonly state: string | undefined;
  readonly reason: string | undefined;
  readonly points: Points | undefined;
  readonly executeTime: Date;
}

type AtStart = { readonly [K in keyof Listed]: Listed[K] | undefined };

export function createView(input: ReservationInput, run: Run): View {
  let executeTime = input.execute_time_at_start;
  let listed = listedAtStart();
  let actors: readonly string[] = workflowInfo().typedSearchAttributes.get(actorKey) ?? [];
  return {
    show(step) {
      let { points } = listed;
      if (step.step === "WAIT" || step.step === "DONE") {
        executeTime = step.execute_time;
        points = step.points ?? points;
      }
      showDetails(run, { ...input, points: points ?? input.points }, step, executeTime);
      const { state, reason } = stateOf(step);
      const next = {
        state: isPlain(listed, state) ? undefined : state,
        reason,
        points,
        executeTime: new Date(executeTime),
      };
      const change = "last_change" in step ? step.last_change : undefined;
      if (change) actors = withActor(actors, change.caller);
      upsertChanges(listed, next, actors);
      listed = next;
    },
  };
}

/** Shows a step, and of the input what is reserved, for whom, why and by whom. */
export function showDetails(
  run: Run,
  input: ReservationInput,
  step: ReservationStep,
  executeTime: string,
): void {
  const what = escapeMarkdown(`${quantity(input.points, "point")} for ${input.user_id}`);
  run.showDetails(`${what}. ${detailsOf(step, run, executeTime)}`, [
    ...(isFinal(step) ? [] : [pauses]),
    ...originOf(input),
  ]);
}

/**
 * Whether the status of the run says the state: Running that it is PENDING, Completed that it is
 * DONE. An upsert at the end would be one of four billed actions. A run has a state from the first
 * other one on; one that an operator has started has it from the start.
 */
const isPlain = (before: AtStart, state: string): boolean =>
  before.state === undefined &&
  before.executeTime !== undefined &&
  (state === "PENDING" || state === "DONE");

/** A run that continues another one has its values, and a run that was started by hand has none. */
function listedAtStart(): AtStart {
  const { typedSearchAttributes: attributes } = workflowInfo();
  return {
    state: attributes.get(stateKey),
    reason: attributes.get(reasonKey),
    points: attributes.get(pointsKey),
    executeTime: attributes.get(executeTimeKey),
  };
}

function stateOf(step: ReservationStep): { state: string; reason: string | undefined } {
  switch (step.step) {
    case "WAIT":
      return { state: "PENDING", reason: undefined };
    case "RETRY":
      return { state: "RETRYING", reason: step.reason };
    case "PAUSED":
      return { state: "PAUSED", reason: "PROGRAM_PAUSED" };
    case "FAILED":
      return { state: "FAILED", reason: step.reason };
    default:
      return { state: step.step, reason: undefined };
  }
}

/**
 * One command, with the values that differ, and with who has changed something. That alone is no
 * reason for a command, which is billed. An attribute is removed by the value null.
 */
function upsertChanges(before: AtStart, after: Listed, actors: readonly string[]): void {
  const changes = [
    ...(after.state !== before.state ? [{ key: stateKey, value: after.state ?? null }] : []),
    ...(after.reason !== before.reason ? [{ key: reasonKey, value: after.reason ?? null }] : []),
    ...(after.points !== before.points ? [{ key: pointsKey, value: after.points ?? null }] : []),
    ...(after.executeTime.getTime() !== before.executeTime?.getTime()
      ? [{ key: executeTimeKey, value: after.executeTime }]
      : []),
  ];
  if (changes.length === 0) return;
  // A run that was started by hand has nobody yet.
  const named = actors.length > 0 ? [{ key: actorKey, value: [...actors] }] : [];
  upsertSearchAttributes([...changes, ...named]);
}

/** The current wait or work of the run, as Markdown. */
function detailsOf(step: ReservationStep, run: Run, executeTime: string): string {
  switch (step.step) {
    case "WAIT":
      return `Waits until ${step.execute_time}.${lastChange(step.last_change)}`;
    case "RETRY":
      return (
        `Due ${leftMsUntil(executeTime) > 0 ? "at" : "since"} ${executeTime}, and tried again at ` +
        `least every 15 s: ` +
        `${escapeMarkdown(step.message)} (${step.reason}). ` +
        `Others wait for the same reason: \`MeguriReason = "${step.reason}"\`.`
      );
    case "PAUSED":
      return (
        `The program is paused ${byOf(step.pause)}. ` +
        "The points are granted after ResumeProgramReservations."
      );
    case "DONE":
      return (
        `Granted at ${step.grant_time}, ${step.lateness} late: ` +
        `${quantity(step.available_points, "point")} available, ` +
        `ledger entry ${step.entry_number}.` +
        (run.isCancelRequested() ? " The requested cancellation came too late." : "")
      );
    case "CANCELLED":
      return `Cancelled ${byOf(step.last_change)}.`;
    case "FAILED":
      return (
        `Refused: ${escapeMarkdown(step.message)} (${step.reason}).\n\n` +
        `**What to do now:** ${adviceFor(step)}`
      );
  }
}

/** Why and by whom it was reserved. A run that was started by hand may not have it. */
function originOf(input: ReservationInput): string[] {
  const { reason = "", cause, reserved_by, traceparent, reservation_id } = input;
  if (reserved_by === undefined) return [];
  const [, traceId] = traceparent?.split("-") ?? [];
  const lines = [
    `- reason: ${escapeMarkdown(reason) || "none given"}`,
    ...(cause ? [`- cause: ${escapeMarkdown(cause)}`] : []),
    `- reserved by: ${escapeMarkdown(reserved_by)}`,
    ...(traceId ? [`- trace: ${escapeMarkdown(traceId)}`] : []),
    // The Web UI may cut the last line, so it is one that the title of the page has as well.
    `- reservation: ${escapeMarkdown(reservation_id)}`,
  ];
  return [lines.join("\n")];
}

const pauses = "Pausing the activity delays nothing: a worker grants what is overdue.";

const lastChange = (change: ChangeView | undefined) =>
  change ? ` Changed last ${byOf(change)}.` : "";

/** The advice to an operator about a failed reservation. */
function adviceFor({ reason, message, retry_refusal }: FailedStep): string {
  if (retry_refusal === undefined) {
    return (
      `${advice[reason] ?? "remove the cause"}, then call RetryReservation or reset this ` +
      "run to its first workflow task. To give it up, call CancelReservation."
    );
  }
  const why = retry_refusal === message ? "" : `: ${escapeMarkdown(retry_refusal)}`;
  return (
    "reserve the points anew, with another reservation_id and a later expire_month, and call " +
    "CancelReservation for this one. RetryReservation refuses it, and a reset fails again, " +
    `because its points could not expire as reserved${why}.`
  );
}

type FailedStep = Extract<ReservationStep, { step: "FAILED" }>;

/** How an operator removes the cause of a refused grant. */
const advice: Readonly<Record<string, string>> = {
  ACCOUNT_FROZEN: "unfreeze the account",
  PROGRAM_NOT_FOUND: "create the program",
  LIMIT_EXCEEDED: "let the account use or lose points, because it holds as many as it may",
  ID_REUSED: "verify the account, because it has a grant of this reservation with other parameters",
};
