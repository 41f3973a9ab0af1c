/** Compares the cost of one thing on two sides. */
import type { Result, Scale } from "../benchmark.ts";
import { median, round } from "./numbers.ts";

/** Times both sides in turn. Returns the ratio of the medians, without the first rounds. */
export async function compare<S>(
  scale: Scale,
  what: string,
  rounds: { readonly all: number; readonly first: number },
  sides: readonly [few: S, many: S],
  time: (side: S, round: number) => Promise<number>,
): Promise<number> {
  const times = new Map<S, number[]>(sides.map((side) => [side, []]));
  for (let n = 0; n < rounds.all; n++) {
    for (const side of n % 2 === 0 ? sides : sides.toReversed()) {
      times.get(side)?.push(await time(side, n));
    }
  }
  const middle = (side: S) => median((times.get(side) ?? []).slice(rounds.first));
  const [few, many] = sides.map(middle) as [number, number];
  scale.note(`${what}: ${few.toFixed(2)} ms with few, ${many.toFixed(2)} ms with many`);
  return round(many / few);
}

/** Meters both sides. Returns the ratio of the capacity units. */
export async function compareUnits<S>(
  sides: readonly [few: S, many: S],
  units: (side: S) => Promise<number>,
): Promise<number> {
  const few = await units(sides[0]);
  return round((await units(sides[1])) / few);
}

/** The results of both comparisons: the cost may hardly grow. */
export function growthResults(
  name: string,
  baseline: string,
  { latency, units }: { readonly latency: number; readonly units: number },
): Result[] {
  const target = "<= 1.1";
  return [
    { name, value: latency, unit: "ratio of median latencies", target, baseline },
    { name: `${name}.units`, value: units, unit: "ratio of capacity units", target, baseline },
  ];
}
