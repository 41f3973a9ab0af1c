/** The refusal of a workbook that cannot be read as a whole. */
import type { DomainError } from "../../../platform/words/errors.ts";
import { sheetError } from "../sheet-error.ts";

/** Returns the refusal INVALID_REQUEST with the code WORKBOOK_UNREADABLE. */
export const workbookError = (message: string, line = 1): DomainError =>
  sheetError("csv", { code: "WORKBOOK_UNREADABLE", line, message });

/** Returns the refusal INVALID_REQUEST with the code TOO_LARGE. */
export const tooLargeError = (message: string, line = 1): DomainError =>
  sheetError("csv", { code: "TOO_LARGE", line, message });
