/** The steps that the run of a reservation believes when an activity has answered them. */
import type { Asking } from "../src/contract/answers.ts";
import type { ReservationStep } from "../src/contract/reservations.ts";
import { believed, type Form, isOf } from "./answers.ts";

type StepName = ReservationStep["step"];

/** What each step has to have, by the type of the field. */
const formOf: {
  readonly [Name in StepName]: Form<Omit<Extract<ReservationStep, { step: Name }>, "step">>;
} = {
  WAIT: { execute_time: "string", points: "number?", last_change: "object?" },
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
  FAILED: { reason: "string", message: "string", run_id: "string", retry_refusal: "string?" },
};

/** Returns the step of an answer; undefined when it is not believed, or there is none. */
export const believedStep = (answer: unknown, asking: Asking): ReservationStep | undefined =>
  believed<ReservationStep>(answer, asking, (value) => {
    const { step, execute_time: time } = value;
    if (typeof step !== "string" || !Object.hasOwn(formOf, step)) return false;
    const isTime = time === undefined || Number.isFinite(Date.parse(String(time)));
    return isTime && isOf(formOf[step as StepName], value);
  });
