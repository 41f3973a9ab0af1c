/** The answers of activities, which workflows tell from those that operators give by hand. */
import type { Answer, Asking } from "../src/contract/answers.ts";

/** Adds the id of the run that asks. */
export const answerTo = <T extends object>({ original_run_id }: Asking, value: T): Answer<T> => ({
  ...value,
  original_run_id,
});
