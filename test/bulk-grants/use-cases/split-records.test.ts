/** Tests of splitting a sheet into records, also behind a broken quote. */
import { CsvError } from "csv-parse";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createRecordSplitter,
  type SheetRecord,
} from "../../../src/bulk-grants/use-cases/split-records.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

function recordsOf(text: string): SheetRecord[] {
  const splitter = createRecordSplitter();
  return [...splitter.add(text), ...splitter.end()];
}

const notClosed = (rest: string) => ({ fault: { code: "QUOTE_NOT_CLOSED", rest } });
const malformed = (rest: string) => ({ fault: { code: "CSV_MALFORMED", rest } });

test.each<[text: string, records: readonly object[]]>([
  ["a,b\r\n\r\n\n\rc", [["a", "b"], { line: 5, cells: ["c"] }]],
  ['"a","b""c",""\n', [["a", 'b"c', ""]]],
  ['"a\r\n\nb","c"\rd\n', [["a\r\n\nb", "c"], ["d"]]],
  ['a,b"c,d\ne\n', [{ cells: ["a"], ...malformed('b"c,d') }, ["e"]]],
  ['a,"b"c,d\r\ne\n', [{ cells: ["a"], ...malformed('"b"c,d') }, ["e"]]],
  ['a,"b\nc\nd,"e"\nf\n', [{ cells: ["a"], ...notClosed('"b') }, ["c"], ["d", "e"], ["f"]]],
  ['a,"b\n\nc\r\n"', [["a", "b\n\nc\r\n"]]],
  [
    'a,"b\n\nc\r\n',
    [
      { cells: ["a"], ...notClosed('"b') },
      { line: 3, cells: ["c"] },
    ],
  ],
  ['"a\n"b\n"c', ['"a', '"b', '"c'].map((rest) => ({ cells: [], ...notClosed(rest) }))],
  // In a multi-line cell with a quote that is not doubled, each line is broken by itself.
  [
    'a,"b\nsaid "c", d\ne"\nf\n',
    [
      { cells: ["a"], ...notClosed('"b') },
      { cells: [], ...malformed('said "c", d') },
      { cells: [], ...malformed('e"') },
      ["f"],
    ],
  ],
])("%j", (text, expected) => {
  const records = expected.map((each, i) => ({
    line: i + 1,
    ...(Array.isArray(each) ? { cells: each } : each),
  }));
  expect(recordsOf(text)).toEqual(records);
});

test("a quote that is never closed costs its line before many others, too", () => {
  const rows = 'u,1,""\n'.repeat(20_000);
  const found = recordsOf(`a,"b\n${rows}c,"d\n${rows}`);
  expect(found).toHaveLength(40_002);
  const faults = found.filter(({ fault }) => fault);
  expect(faults.map(({ line }) => line)).toEqual([1, 20_002]);
});

test("a cell over many lines is read up to 64 Ki characters", () => {
  const cell = "x\n".repeat(2 ** 15 - 1);
  expect(recordsOf(`"${cell}"\n`)).toEqual([{ line: 1, cells: [cell] }]);
  expect(recordsOf(`"xx${cell}"\n`)[0]).toMatchObject({ line: 1, ...notClosed('"xxx') });
});

const pieces = fc.constantFrom(
  '"',
  '""',
  ",",
  "\n",
  "\r",
  "\r\n",
  '"\n',
  ',"',
  '",',
  "a",
  "あ",
  " ",
);
const text = fc.array(pieces, { maxLength: 30 }).map((all) => all.join(""));

test("what is CSV throughout reads as csv-parse reads it, and the rest has a fault", async () => {
  const property = fc.asyncProperty(text, async (csv) => {
    const records = recordsOf(csv);
    const isWhole = records.every(({ fault }) => !fault);
    try {
      const options = { relax_column_count: true, skip_empty_lines: true };
      const expected: string[][] = parse(csv, {
        ...options,
        record_delimiter: ["\r\n", "\n", "\r"],
      });
      expect(records.map(({ cells }) => cells)).toEqual(expected);
      expect(isWhole).toBe(true);
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      expect(isWhole).toBe(false);
    }
  });
  await assertSeeds(property, [{ seed: 20_261_125, numRuns: 500 }]);
});

test("lines give the same records, however many are given at a time", async () => {
  const property = fc.asyncProperty(text, async (csv) => {
    const splitter = createRecordSplitter();
    const lines = csv.match(/[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$/g) ?? [];
    const records = lines.flatMap((line) => [...splitter.add(line)]);
    expect([...records, ...splitter.end()]).toEqual(recordsOf(csv));
  });
  await assertSeeds(property, [{ seed: 20_261_125, numRuns: 300 }]);
});
