/** How the warnings of a sheet are stored: in summaries, and the refused ones in bulk grants. */
import { field, list, map, number, oneOf, text } from "../../../platform/dynamodb/fields.ts";
import type { WarningCode } from "../../../points/rules/bulk-rules.ts";
import type { SheetWarning } from "../../rules/sheet-warning.ts";

export const sheetWarning = map<SheetWarning>({
  code: field("c", oneOf<WarningCode>()),
  rowCount: field("k", number),
  lines: field("l", list(number)),
  detail: field("d", text),
});
