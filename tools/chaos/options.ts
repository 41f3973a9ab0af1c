/** Reads the options of `npm run chaos`. */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

export interface Options {
  readonly minutes: number;
  readonly seed: number;
}

/** Reads `--minutes` (10 by default) and `--seed` (a fresh one). Throws one line of advice. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parsed(args);
  const { minutes = "10", seed = String(randomInt(2 ** 31)) } = values;
  if (!(Number(minutes) > 0 && Number(minutes) <= 24 * 60)) {
    throw new Error(`--minutes is a number above 0, up to 1440, such as 0.5; not ${minutes}`);
  }
  if (!/^\d{1,15}$/.test(seed)) {
    throw new Error(`--seed is a whole number, as an earlier run has printed it; not ${seed}`);
  }
  return { minutes: Number(minutes), seed: Number(seed) };
}

function parsed(args: readonly string[]) {
  try {
    const options = { minutes: { type: "string" }, seed: { type: "string" } } as const;
    return parseArgs({ args: [...args], options });
  } catch (error) {
    const [problem] = (error as Error).message.split(/\.\s/);
    throw new Error(`${problem}; npm run chaos -- [--minutes N] [--seed S]`);
  }
}
