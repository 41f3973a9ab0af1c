/** The refusal of a request whose fields break a rule. */

import { DomainError } from "../words/errors.ts";
import { listed, mostListed } from "../words/quantities.ts";

/** The problem of one field of a request; `field` is its path in the schema's names. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** A request that breaks rules of its schema. Names the first ten violations. */
export class InvalidRequest extends DomainError {
  readonly violations: readonly FieldViolation[];

  constructor(all: readonly FieldViolation[]) {
    super(
      "INVALID_REQUEST",
      listed(all.map(({ field, description }) => `${field}: ${description}`)),
    );
    this.violations = all.slice(0, mostListed);
  }
}

/** The error for one field. */
export const invalid = (field: string, description: string): InvalidRequest =>
  new InvalidRequest([{ field, description }]);
