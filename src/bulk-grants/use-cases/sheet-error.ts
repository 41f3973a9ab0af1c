/** The refusal of rows that cannot be read as a whole. */
import { DomainError } from "../../platform/words/errors.ts";
import type { SheetProblem } from "../rules/sheet.ts";

/** Returns the refusal INVALID_REQUEST; its metadata has the field, the code and the line. */
export function sheetError(
  field: "csv" | "rows",
  { code, line, message }: SheetProblem,
): DomainError {
  const metadata = { field, code, line: String(line) };
  return new DomainError("INVALID_REQUEST", `line ${line}: ${message}`, metadata);
}
