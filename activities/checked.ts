/** Makes activities that check their inputs by schemas. */
import type { z } from "zod";
import { DomainError } from "../src/platform/words/errors.ts";

type Schemas = readonly z.ZodType[];
type Inputs<S extends Schemas> = { [I in keyof S]: z.input<S[I]> };
type Outputs<S extends Schemas> = { [I in keyof S]: z.output<S[I]> };

/**
 * Returns an activity that refuses inputs which do not have these schemas, and otherwise calls
 * `work` with what the schemas make of them: names in camelCase, times as instants.
 * Refusal: INVALID_REQUEST.
 */
export const checked =
  <S extends Schemas, Result>(
    schemas: readonly [...S],
    work: (...inputs: Outputs<S>) => Promise<Result>,
  ) =>
  async (...inputs: Inputs<S>): Promise<Result> =>
    work(...(schemas.map((schema, i) => readPayload(schema, inputs[i])) as Outputs<S>));

/** Reads a value by its schema. Throws INVALID_REQUEST with the first field that is wrong. */
export function readPayload<S extends z.ZodType>(
  schema: S,
  value: unknown,
  name?: string,
): z.output<S> {
  const { error, data } = schema.safeParse(value);
  if (!error) return data;
  const [issue] = error.issues;
  const field = issue?.path.join(".") || name;
  const message = `${field ?? "the input"}: ${issue?.message}`;
  throw new DomainError("INVALID_REQUEST", message, { ...(field !== undefined && { field }) });
}
