/** Uses of an account that is short of points, refused while other processes write it. */
import { type ServiceError, status } from "@grpc/grpc-js";
import { grant, use, userName } from "../support/calls.ts";
import { callers, conflictsOf, times, waits } from "../support/conflicts.ts";
import { load } from "../support/load.ts";
import { percentile } from "../support/numbers.ts";
import type { ServerProcess } from "../support/stack.ts";

/** Seven of ten calls ask for more than the account mostly has; the others grant a little. */
const asked = 50n;
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
          await use(channel, userName(1), asked);
        } catch (refusal) {
          if ((refusal as ServiceError).code !== status.FAILED_PRECONDITION) throw refusal;
          refusals.push(performance.now() - sent);
        }
      },
    });
    const longestMs = Math.max(...refusals);
    const tell = (part: number) => percentile(refusals, part).toFixed(0);
    scale.note(
      `${processes} processes: ${rate.toFixed(0)} calls/s, ${refusals.length} refusals, ` +
        `p50 ${tell(0.5)} p99 ${tell(0.99)} longest ${longestMs.toFixed(0)} ms, ` +
        `errors ${errors} ${errors > 0 ? error : ""}`,
    );
    return { rate, longestMs, errors };
  },
});
