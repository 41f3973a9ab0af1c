/**
 * `npm run chaos [-- --minutes N] [--seed S]`: kills, stops and cuts off the parts of a stack of
 * its own under sixteen clients and a consumer of events, then checks everything that they have
 * learned. Exits with 1 if anything is wrong. The seed gives the same faults and requests again,
 * but not the same moments.
 */
import { percentile } from "../../bench/support/numbers.ts";
import { readOptions } from "./options.ts";
import { type Result, runChaos, sumOf, textOf, wrongCounts } from "./run.ts";
import { inGroups } from "./wrong.ts";

const stopped = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => stopped.abort());
}

try {
  const options = readOptions(process.argv.slice(2));
  const result = await runChaos(options, console.log, stopped.signal);
  process.exitCode = result ? report(result, options.seed) : 130;
} catch (error) {
  if (!stopped.signal.aborted) console.error(error instanceof Error ? error.message : error);
  process.exitCode = stopped.signal.aborted ? 130 : 1;
}
process.exit();

/** Prints what there was and what is wrong. Returns the exit code. */
function report(result: Result, seed: number): number {
  const { counts, faults, events, latenessMs } = result;
  const wrong = [...result.wrong, ...wrongCounts(counts)];
  const kinds = Map.groupBy(faults, ({ part, kind }) => `${part} ${kind}`);
  for (const [kind, some] of [...kinds].sort()) console.log(`${some.length} times ${kind}`);
  for (const [name, each] of Object.entries(counts)) console.log(`${name}: ${textOf(each)}`);
  const late = (share: number) => `${(percentile(latenessMs, share) / 1_000).toFixed(1)} s`;
  console.log(
    `${latenessMs.length} grants, 95 % at most ${late(0.95)} late, the latest ${late(1)}`,
  );
  console.log(`${events.events} events, and ${events.repeated} that came again`);
  for (const what of inGroups(wrong)) console.log(`WRONG: ${what}`);
  const { acknowledged } = sumOf(counts);
  console.log(`${acknowledged} operations acknowledged, ${wrong.length} wrong (seed ${seed})`);
  return wrong.length > 0 ? 1 : 0;
}
