/** Measures the CPU time of reading and checking a sheet, over that of a plain reader of CSV. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { readSheet } from "../../src/bulk-grants/use-cases/read-sheet.ts";
import { createRowsDigest } from "../../src/bulk-grants/use-cases/rows-digest.ts";
import type { Benchmark } from "../benchmark.ts";
import { userName } from "../support/calls.ts";
import { byTurns } from "../support/load.ts";
import { ratioByTurns } from "../support/numbers.ts";

const chunkBytes = 2 ** 16;

/** Rows a CPU second in UTF-8 with Japanese reasons, without the store, over those of csv-parse. */
export const sheetCheck: Benchmark = {
  names: ["sheet.check_rate"],
  async run(scale) {
    const count = scale.pick(100_000, 2_500);
    const sheet = sheetOf(count);
    const rate = async (read: (bytes: AsyncIterable<Buffer>) => Promise<number>) => {
      const start = process.cpuUsage();
      const found = await read(chunksOf(sheet));
      if (found !== count) throw new Error(`${found} rows were right, not ${count}`);
      const { user, system } = process.cpuUsage(start);
      return (count / (user + system)) * 1e6;
    };
    const own = () => rate(readOwn);
    const plain = () => rate(readPlain);
    // The first turn compiles both.
    await byTurns(1, own, plain);
    const { a, b } = await byTurns(scale.pick(5, 1), own, plain);
    scale.note(`own ${a.map(Math.round)} rows a CPU second, plain ${b.map(Math.round)}`);
    return [
      {
        name: "sheet.check_rate",
        ...ratioByTurns(a, b),
        unit: "ratio of rows a CPU second",
        target: ">= 0.75",
        baseline: "csv-parse with the same digest and a set of the users",
      },
    ];
  },
};

function sheetOf(count: number): Buffer {
  const rows = Array.from(
    { length: count },
    (_, i) => `${userName(i)},${(i % 500) + 1},夏のご愛顧キャンペーン ${i % 7} 回目\r\n`,
  );
  return Buffer.from(`user_id,points,reason\r\n${rows.join("")}`);
}

async function* chunksOf(sheet: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < sheet.length; at += chunkBytes) yield sheet.subarray(at, at + chunkBytes);
}

/** Reads and checks the rows as a submission does. Returns the number of the right ones. */
async function readOwn(bytes: AsyncIterable<Buffer>): Promise<number> {
  const digest = createRowsDigest();
  let count = 0;
  const context = { bulkGrantId: "b", maxPointsPerRow: 1_000, userIdPattern: "" };
  for await (const row of readSheet(bytes, context)) {
    digest.add(row);
    if (!row.problems) count += 1;
  }
  digest.digest();
  return count;
}

/** The same with a library, without messages for what is wrong. */
async function readPlain(bytes: AsyncIterable<Buffer>): Promise<number> {
  const digest = createHash("sha256");
  const users = new Set<string>();
  const records = Readable.from(bytes).pipe(parse({ columns: true, bom: true }));
  for await (const { user_id, points, reason } of records) {
    digest.update(`${JSON.stringify([user_id, Number(points), reason])}\n`);
    if (/^\d+$/.test(points)) users.add(user_id);
  }
  digest.digest();
  return users.size;
}
