/** Measures grants on one account by several processes. */
import { grant, userName } from "../support/calls.ts";
import {
  callers,
  conflictsOf,
  counts,
  type Run,
  rates,
  times,
  waits,
} from "../support/conflicts.ts";
import { load } from "../support/load.ts";
import { median, percentile, round, sum } from "../support/numbers.ts";
import type { ServerProcess } from "../support/stack.ts";

interface GrantRun extends Run {
  /** The grants of the process with the fewest, over a fair share. */
  readonly smallestShare: number;
}

/** One contended account. */
export const grantConflicts = conflictsOf<GrantRun>({
  name: "grant.conflicts",
  async run(scale, servers) {
    const processes = servers.length;
    const serverOf = (caller: number) => servers[caller % processes] as ServerProcess;
    const { rate, latencies, byCaller, errors, error } = await load({
      ...times(scale),
      callers,
      call: (caller) => grant(serverOf(caller).channel, userName(1)),
    });
    const served = servers.map((_, i) =>
      sum(byCaller.filter((_, caller) => caller % processes === i)),
    );
    const fair = sum(served) / processes;
    const smallestShare = Math.min(...served) / fair;
    const longestMs = Math.max(...latencies);
    const ms = (share: number) => percentile(latencies, share).toFixed(0);
    scale.note(
      `${processes} processes: ${rate.toFixed(0)}/s, p50 ${ms(0.5)} p99 ${ms(0.99)} ` +
        `longest ${longestMs.toFixed(0)} ms, ` +
        `served ${served}, errors ${errors} ${errors > 0 ? error : ""}`,
    );
    return { rate, longestMs, smallestShare, errors };
  },
  results: {
    ...rates,
    ...waits,
    smallest_share(runs) {
      const of = (processes: number) => runs.filter((one) => one.processes === processes);
      const shares = counts.map((count) => median(of(count).map((one) => one.smallestShare)));
      return {
        value: round(Math.min(...shares)),
        unit: "of a fair share, on 4 and 8 processes",
        target: ">= 0.5",
        baseline: "",
      };
    },
  },
});
