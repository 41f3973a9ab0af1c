/** Compares the cost of one thing on two sides. */
import type { Result, Scale } from "../benchmark.ts";
import { median, ratioByTurns, round, type Turns } from "./numbers.ts";

/** The turns into which the rounds of a comparison are divided. */
const turnCount = 10;

/**
 * Times both sides in turn. Returns the ratio of the medians, without the first rounds, and that of
 * each tenth of the rounds.
 */
export async function compare<S>(
  scale: Scale,
  what: string,
  rounds: { readonly all: number; readonly first: number },
  sides: readonly [few: S, many: S],
  time: (side: S, round: number) => Promise<number>,
): Promise<Turns> {
  const times = new Map<S, number[]>(sides.map((side) => [side, []]));
  for (let n = 0; n < rounds.all; n++) {
    for (const side of n % 2 === 0 ? sides : sides.toReversed()) {
      times.get(side)?.push(await time(side, n));
    }
  }
  const [few, many] = sides.map((side) => (times.get(side) ?? []).slice(rounds.first)) as [
    number[],
    number[],
  ];
  const medians = [median(few), median(many)] as const;
  scale.note(`${what}: ${medians.map((ms) => ms.toFixed(2))} ms with few, with many`);
  const { turns } = ratioByTurns(mediansOf(many), mediansOf(few));
  return { value: round(medians[1] / medians[0]), turns };
}

/** The median of each of so many equal parts. */
function mediansOf(times: readonly number[]): number[] {
  const length = Math.ceil(times.length / turnCount);
  const parts = Math.ceil(times.length / length);
  return Array.from({ length: parts }, (_, i) => median(times.slice(i * length, (i + 1) * length)));
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
  { latency, units }: { readonly latency: Turns; readonly units: number },
): Result[] {
  const target = "<= 1.1";
  return [
    { name, ...latency, unit: "ratio of median latencies", target, baseline },
    {
      name: `${name}.units`,
      value: units,
      unit: "ratio of capacity units",
      target,
      baseline,
      counted: true,
    },
  ];
}
