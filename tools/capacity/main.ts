/**
 * `npm run capacity -- --grants 500 --reservations 1e6 …`: prints what a load needs, costs, and
 * which limit it meets first (docs/run/capacity.md). Ends with 1 and one line if an option is
 * wrong.
 */
import { parseArgs } from "node:util";
import { defaults } from "../../src/platform/config/config.ts";
import { reservationLead } from "../../src/reservations/contract/reservations.ts";
import { maxHeldGrants } from "../../src/worker/slots.ts";
import type { Load, Settings } from "./formulas.ts";
import { report } from "./report.ts";

const names = [
  "grants",
  "uses",
  "balances",
  "likes",
  "notifies",
  "reads",
  "members",
  "reservations",
  "rows",
  "watchers",
] as const satisfies readonly (keyof Load)[];

/** An option is wrong. */
class OptionError extends Error {
  override readonly name = "OptionError";
}

/** Reads the options; a load that is not given is none. Throws OptionError. */
export function readOptions(args: readonly string[]): { load: Load; announced: boolean } {
  const { values } = parse(args);
  const numbers = names.map((name) => [name, numberOf(name, values[name])] as const);
  return {
    load: Object.fromEntries(numbers) as Record<(typeof names)[number], number>,
    announced: values.announced === true,
  };
}

function parse(args: readonly string[]) {
  const numbers = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
  const options = { ...numbers, announced: { type: "boolean" } } as const;
  try {
    return parseArgs({ args: [...args], options }) as {
      values: { announced?: boolean } & { [name in (typeof names)[number]]?: string };
    };
  } catch (error) {
    const [line = ""] = (error as Error).message.split(/[.\n]/);
    throw new OptionError(`${line}; the options are --${names.join(", --")}, --announced`);
  }
}

function numberOf(name: string, text = "0"): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(number) && number >= 0) return number;
  throw new OptionError(`--${name} has to be a number of at least 0, such as 500 or 1e6`);
}

const numberByDefault = (variable: string): number => Number(defaults.get(variable));

/** The settings that follow from the defaults of the variables. */
const settings = (announced: boolean): Settings => ({
  bulkRowsPerSecond: numberByDefault("MEGURI_BULK_ROWS_PER_SECOND"),
  sweepChangesPerSecond: numberByDefault("MEGURI_SWEEP_CHANGES_PER_SECOND"),
  maxStreams: numberByDefault("MEGURI_MAX_STREAMS"),
  announced,
  heldGrants: maxHeldGrants,
  leadSeconds: (reservationLead.leastMs + reservationLead.mostMs) / 2 / 1_000,
});

if (import.meta.main) {
  try {
    const { load, announced } = readOptions(process.argv.slice(2));
    console.log(report(load, settings(announced)));
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
