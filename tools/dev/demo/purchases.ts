/** Reads the purchase log of the demo. */
import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { z } from "zod";

/** One line of the purchase log. */
export interface Purchase {
  readonly customer: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** In yen. */
  readonly amount: number;
}

const row = z.object({
  customer: z.string().regex(/^[!-"$-~]{1,128}$/, "1 to 128 visible ASCII characters without #"),
  time: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
  amount: z.coerce.number().int().min(0).max(1_000_000_000),
});

/**
 * Reads a purchase log: CSV with the head `customer,time,amount`, times in RFC 3339 with a zone,
 * amounts in whole yen. Sorted by time.
 *
 * @throws Error that names the line of the first bad row.
 */
export function readPurchases(file: string): Purchase[] {
  const rows: { record: unknown; info: { lines: number } }[] = parse(readFileSync(file), {
    columns: true,
    skip_empty_lines: true,
    trim: true,
    info: true,
  });
  const purchases = rows.map(({ record, info }) => {
    const parsed = row.safeParse(record);
    if (parsed.success) return parsed.data;
    throw new Error(`${file}, line ${info.lines}: ${z.prettifyError(parsed.error)}`);
  });
  if (purchases.length === 0) throw new Error(`${file} holds no purchases`);
  return purchases.sort((a, b) => a.time - b.time);
}
