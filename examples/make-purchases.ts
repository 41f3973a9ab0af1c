/**
 * Writes `purchases.csv`, the purchase log that `npm run demo` plays: 14 months of a shop with 80
 * customers, from the few who come every week to the many who come twice a year. The seed is fixed,
 * so the file is always the same: `node examples/make-purchases.ts`.
 */
import { writeFileSync } from "node:fs";
import { Random } from "./random.ts";

const customers = 80;
const months = 14;
const firstYear = 2025;
/** The sales of each month of the year, relative to the average. */
const season = [0.9, 0.8, 1.1, 1, 1, 0.9, 1.1, 0.8, 0.9, 1, 1.1, 1.4];

const random = new Random(20_261_121);
const rows: { time: string; customer: string; amount: number }[] = [];
for (let i = 1; i <= customers; i++) {
  const perMonth = Math.exp(random.normal() * 0.9 - 0.1);
  const basket = 1_800 * Math.exp(random.normal() * 0.5);
  for (let month = 0; month < months; month++) {
    const count = random.poisson(perMonth * (season[month % 12] as number));
    for (let k = 0; k < count; k++) {
      const customer = `customer-${String(i).padStart(3, "0")}`;
      const amount = Math.max(
        100,
        Math.round((basket * Math.exp(random.normal() * 0.6)) / 10) * 10,
      );
      rows.push({ time: timeIn(month), customer, amount });
    }
  }
}
rows.sort((a, b) => (a.time < b.time ? -1 : 1));
const lines = rows.map(({ customer, time, amount }) => `${customer},${time},${amount}`);
writeFileSync(
  new URL("purchases.csv", import.meta.url),
  `${["customer,time,amount", ...lines].join("\n")}\n`,
);

/** A random time of a purchase, mostly in the early evening. */
function timeIn(month: number): string {
  const year = firstYear + Math.floor(month / 12);
  const of = (month % 12) + 1;
  const day = 1 + Math.floor(random.next() * new Date(Date.UTC(year, of, 0)).getUTCDate());
  const hour = Math.min(22, Math.max(9, Math.round(17 + random.normal() * 3)));
  const minute = Math.floor(random.next() * 60);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${year}-${two(of)}-${two(day)}T${two(hour)}:${two(minute)}:00+09:00`;
}
