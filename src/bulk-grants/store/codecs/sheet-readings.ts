/** How it is stored how a sheet was understood: a map of its revision and of its summary. */
import {
  field,
  list,
  map,
  number,
  oneOf,
  optional,
  type Type,
  text,
  tuple,
} from "../../../platform/dynamodb/fields.ts";
import type {
  ReadColumn,
  SampleRow,
  Separator,
  SheetEncoding,
  SheetReading,
} from "../../rules/sheet-reading.ts";

export const sheetReading: Type<SheetReading> = map<SheetReading>({
  format: field("f", oneOf<SheetReading["format"]>()),
  encoding: optional("e", oneOf<SheetEncoding>()),
  separator: optional("s", oneOf<Separator>()),
  sheetName: optional("n", text),
  formulaCount: optional("l", number),
  hiddenRowCount: optional("h", number),
  otherSheetCount: optional("o", number),
  columns: field("c", list(tuple<ReadColumn>({ name: text, readAs: text }, 1))),
  skippedZeroCount: field("z", number),
  sample: optional(
    "r",
    tuple<SampleRow>(
      { line: number, userId: text, points: number, reason: text, expireMonth: number },
      4,
    ),
  ),
});
