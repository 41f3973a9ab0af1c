/** Reads the inputs of runs, which an operator may have written, and the times in payloads. */
import { workflowInfo } from "@temporalio/workflow";
import type { Milliseconds } from "../src/platform/words/units.ts";
import { refuse } from "./failures.ts";

type FieldType<T> = T extends number ? "number" : T extends string ? "string" | "time" : never;

/** The types of all fields of `T` that are texts or numbers; `?` marks one that may be absent. */
type FieldTypes<T> = {
  readonly [K in keyof T as [FieldType<T[K]>] extends [never] ? never : K]-?: undefined extends T[K]
    ? `${FieldType<T[K]>}?`
    : FieldType<T[K]>;
};

const isOfType: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string" && value !== "",
  number: (value) => typeof value === "number",
  time: (value) => typeof value === "string" && Number.isFinite(Date.parse(value)),
};

/**
 * Refuses an input whose fields do not have these types, such as that of a run that was started by
 * hand: an error that is not a failure would repeat the task for ever. What else a field must be,
 * the first activity that gets it checks by its schema. Refuses progress (`so_far`) of a run that
 * continues no other one, too: it was copied or made up, and would leave out a part of the work.
 */
export function requireFields<T>(input: T, types: FieldTypes<T>): void {
  const fields = input as Readonly<Record<string, unknown>> | null | undefined;
  for (const [field, type] of Object.entries<string>(types as Record<string, string>)) {
    const value = fields?.[field];
    const expected = type.replace("?", "");
    const isOmitted = type !== expected && value === undefined;
    if (isOmitted || isOfType[expected]?.(value)) continue;
    throw refuse(`${field}: must be a ${expected}`, "INVALID_REQUEST");
  }
  if (fields?.so_far !== undefined && workflowInfo().continuedFromExecutionRunId === undefined) {
    const message = "so_far: only a run that continues another one has it; start one without it";
    throw refuse(message, "INVALID_REQUEST");
  }
}

/** How long it is until a time of RFC 3339; negative when it has passed. */
export const leftMsUntil = (time: string): Milliseconds => Date.parse(time) - Date.now();
