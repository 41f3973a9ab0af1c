/** Properties of reading sheets: any bytes in any chunks give rows or a refusal, and the same. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { bulkGrantIdIn } from "../../../src/bulk-grants/use-cases/read-sheet.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { read, readAll } from "../../support/fixtures/sheets.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

const piecesOfSheets = [
  ..."\n\r,\"'=\0".split(""),
  "\r\n",
  "user_id",
  "points",
  "reason",
  "user_id,points\n",
  "user_id,points,reason\r\n",
  "\nu1,1,あ",
  '\n"u2",2,"a""b"',
  "\ufeff",
].map((piece) => [...Buffer.from(piece)]);
/** Bytes that resemble a sheet, in UTF-8, in Shift_JIS or in neither. */
const bytes = fc
  .tuple(
    fc.constantFrom("", "user_id,points,reason\n", "\ufeffuser_id,points\r\n"),
    fc.array(
      fc.oneof(
        fc.constantFrom(...piecesOfSheets, [0x93, 0xfa], [0x83, 0x5c], [0xc3, 0xbd], [0x93]),
        fc.array(fc.integer({ min: 0x20, max: 0x7e }), { maxLength: 5 }),
        fc.array(fc.integer({ min: 0, max: 0xff }), { maxLength: 5 }),
      ),
    ),
  )
  .map(([head, pieces]) => Uint8Array.from([...Buffer.from(head), ...pieces.flat()]));

/** Yields bytes in chunks of the given lengths, in turn; a chunk may be empty. */
async function* inChunks(whole: Uint8Array, lengths: readonly number[]) {
  for (let at = 0, index = 0; at < whole.length; index++) {
    const length = lengths[index % lengths.length] ?? 1;
    yield whole.subarray(at, at + length);
    at += length;
  }
}

test("a sheet that is refused or left at its first bytes is closed", async () => {
  let closedCount = 0;
  async function* source(text: string) {
    try {
      yield Buffer.from(text);
      yield Buffer.from("u2,2\n");
    } finally {
      closedCount += 1;
    }
  }
  await readAll(source("name,points\n"));
  expect(closedCount).toBe(1);
  expect(await bulkGrantIdIn(source("user_id,points,bulk_grant_id\nu1,1,spring\n"))).toBe("spring");
  expect(closedCount).toBe(2);
  await readAll(source("PK\u0003\u0004"), { encoding: "gbk" });
  expect(closedCount).toBe(3);
});

test("any bytes give rows or a refusal, whatever the chunks are", async () => {
  const lengths = fc
    .array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 5 })
    .filter((all) => all.some((length) => length > 0));
  const property = fc.asyncProperty(bytes, lengths, async (whole, chunks) => {
    const atOnce = await read([...whole]);
    const inParts = await readAll(inChunks(whole, chunks));
    expect(inParts).toEqual(atOnce);
    if (atOnce.error === undefined) return;
    expect(atOnce.error).toBeInstanceOf(DomainError);
    expect((inParts.error as DomainError).metadata).toEqual((atOnce.error as DomainError).metadata);
  });
  await assertSeeds(property, [{ seed: 20_261_125, numRuns: 400 }]);
});

test("ASCII control characters read the same with and without Shift_JIS behind", async () => {
  const whole = Buffer.from("user_id,points,reason\n\x7f\x1a\x1c,1,x\n\x83\x5c,1,x\n", "latin1");
  const atOnce = await read([...whole]);
  expect(await readAll(inChunks(whole, [1]))).toEqual(atOnce);
  expect(JSON.stringify(atOnce.rows)).toContain(JSON.stringify("\x7f\x1a\x1c").slice(1, -1));
});
