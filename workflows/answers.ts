/** Whether a workflow believes an answer of an activity: operators can complete one by hand. */
import { workflowInfo } from "@temporalio/workflow";
import type { Answer, Asking } from "../src/contract/answers.ts";

type TypeName<V> = V extends string
  ? "string"
  : V extends number
    ? "number"
    : V extends boolean
      ? "boolean"
      : V extends readonly unknown[]
        ? "list"
        : "object";

/**
 * The types of the fields that an answer has to have; `?` marks a field that may be absent. A field
 * that a release adds has to be one of these: older histories have answers without it.
 */
export type Form<T> = {
  readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K>
    ? `${TypeName<Exclude<T[K], undefined>>}?`
    : TypeName<T[K]>;
};

/** What a run asks its activities with. The id is the same after a reset. */
export const asking = (): Asking => ({ original_run_id: workflowInfo().originalExecutionRunId });

/**
 * Returns what an activity has answered, without the id of the run. Returns undefined when there is
 * no answer, or one with another id or form: an operator has completed the activity by hand.
 */
export function believed<T extends object>(
  answer: unknown,
  { original_run_id }: Asking,
  isOfForm: (value: Fields) => boolean,
): T | undefined {
  if (typeOf(answer) !== "object") return undefined;
  const { original_run_id: id, ...value } = answer as Fields;
  return id === original_run_id && isOfForm(value) ? (value as T) : undefined;
}

/** Asks an activity, which may be repeated, until its answer is believed. */
export async function askFor<T extends object>(
  form: Form<T>,
  ask: () => Promise<Answer<T>>,
): Promise<T> {
  for (;;) {
    const answer = believed<T>(await ask(), asking(), (value) => isOf(form, value));
    if (answer) return answer;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Whether a value has the fields of a form, each with its type. */
export const isOf = (form: Readonly<Record<string, string>>, value: Fields): boolean =>
  Object.entries(form).every(([field, type]) => {
    const given = value[field];
    return type.endsWith("?") && given === undefined
      ? true
      : typeOf(given) === type.replace("?", "");
  });

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
}
