/** Measures the refusals of uses of an account that other processes write at the same time. */
import { type ServiceError, status } from "@grpc/grpc-js";
import { grant, use, userName } from "../support/calls.ts";
import { callers, conflictsOf, times, waits } from "../support/conflicts.ts";
import { load } from "../support/load.ts";
import { percentile } from "../support/numbers.ts";
import type { ServerProcess } from "../support/stack.ts";

/** Seven of ten calls use more points than the account mostly has; three of ten grant a few. */
const used = 50n;
const granted = 3n;
const isUse = (caller: number, n: number) => (caller + n) % 10 < 7;

export const useRefused = conflictsOf({
  name: "use.refused.conflicts",
  results: waits,
  async run(scale, servers) {
    const processes = servers.length;
    const refusals: number[] = [];
    const { rate, errors, error } = await load({
      ...times(scale),
      callers,
      async call(caller, n) {
        const { channel } = servers[caller % processes] as ServerProcess;
        if (!isUse(caller, n)) return grant(channel, userName(1), granted);
        const sent = performance.now();
        try {
          await use(channel, userName(1), used);
        } catch (refusal) {
          if ((refusal as ServiceError).code !== status.FAILED_PRECONDITION) throw refusal;
          refusals.push(performance.now() - sent);
        }
      },
    });
    const longestMs = Math.max(...refusals);
    const ms = (share: number) => percentile(refusals, share).toFixed(0);
    scale.note(
      `${processes} processes: ${rate.toFixed(0)} calls/s, ${refusals.length} refusals, ` +
        `p50 ${ms(0.5)} p99 ${ms(0.99)} longest ${longestMs.toFixed(0)} ms, ` +
        `errors ${errors} ${errors > 0 ? error : ""}`,
    );
    return { rate, longestMs, errors };
  },
});
