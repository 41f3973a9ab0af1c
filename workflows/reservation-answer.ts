/** Whether the run of a reservation believes what an activity has answered. */
import type { GrantInput, ReservationStep } from "../src/contract/reservations.ts";

type Fields = Readonly<Record<string, "string" | "number" | "object">>;

/** What each step has to have, by the type of the field. */
const fieldsOf: { readonly [Name in ReservationStep["step"]]: Fields } = {
  WAIT: { execute_time: "string" },
  PAUSED: { pause: "object" },
  RETRY: { reason: "string", message: "string" },
  DONE: {
    execute_time: "string",
    grant_time: "string",
    lateness: "string",
    points: "number",
    available_points: "number",
    entry_number: "number",
  },
  CANCELLED: { last_change: "object" },
  FAILED: { reason: "string", message: "string", run_id: "string" },
};

/**
 * Returns the step of an answer. Returns undefined for one that an operator has given, who has
 * completed the activity by hand: the record has to be read instead. It is told by the id of the
 * run, which is the same after a reset, and by its form. Also returns undefined without an answer.
 */
export function believed(
  answer: unknown,
  { original_run_id }: Pick<GrantInput, "original_run_id">,
): ReservationStep | undefined {
  if (!isRecord(answer) || answer.original_run_id !== original_run_id) return undefined;
  const { original_run_id: _, ...step } = answer;
  return isStep(step) ? step : undefined;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

function isStep(value: Readonly<Record<string, unknown>>): value is ReservationStep & typeof value {
  const { step, execute_time: time } = value;
  if (typeof step !== "string" || !Object.hasOwn(fieldsOf, step)) return false;
  const fields = Object.entries(fieldsOf[step as ReservationStep["step"]]);
  const hasFields = fields.every(
    ([field, type]) => value[field] !== null && typeof value[field] === type,
  );
  return hasFields && (time === undefined || Number.isFinite(Date.parse(String(time))));
}
