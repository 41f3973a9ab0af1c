/** Makes activities that check their inputs by schemas. */
import type { z } from "zod";
import { withoutControls } from "../src/platform/words/controls.ts";
import { cutToBytes } from "../src/platform/words/display-text.ts";
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

/** Temporal keeps no failure as long as an input, whose unknown fields a message names. */
const maxMessageBytes = 512;

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
  const shown = cutToBytes(withoutControls(message), maxMessageBytes);
  throw new DomainError("INVALID_REQUEST", shown, { ...(field !== undefined && { field }) });
}
