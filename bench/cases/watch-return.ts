/** Measures the other calls of a server to which the streams of another one come. */
import { setTimeout as sleep } from "node:timers/promises";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { returnStreams } from "../../test/support/servers/returning-streams.ts";
import type { Benchmark } from "../benchmark.ts";
import { percentile, round } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import { withStack } from "../support/stack.ts";
import { ownerIds, places } from "../support/watches.ts";

const { getBalance } = PointsService.method;

/** As production: streams end within a tenth of it. */
const env = { MEGURI_MAX_STREAMS: String(places), MEGURI_DRAIN_SECONDS: "20" };

/**
 * A server with 10,000 streams stops, and each comes to the only other one after the delay that its
 * last message names. The time of a balance there meanwhile, over the same before.
 */
export const watchReturn: Benchmark = {
  names: ["watch.return"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const leaving = await stack.startServer({ env });
      const staying = await stack.startServer({ env });
      const all = ownerIds(0, scale.pick(10_000, 300));
      const { returned, close } = await returnStreams(leaving.port, staying.port, all);
      await measure(staying.channel, sleep(scale.pick(5_000, 500)));
      const quiet = await measure(staying.channel, sleep(scale.pick(20_000, 1_000)));
      const stopped = performance.now();
      const stopping = leaving.stop();
      const busy = await measure(staying.channel, returned);
      const seconds = (performance.now() - stopped) / 1_000;
      await stopping;
      close();
      const [before, meanwhile] = [quiet, busy].map((ms) => percentile(ms, 0.99)) as [
        number,
        number,
      ];
      scale.note(
        `${all.length} streams came back within ${seconds.toFixed(0)} s; balances ` +
          `p99 ${before.toFixed(1)} ms before, ${meanwhile.toFixed(1)} ms meanwhile, ` +
          `longest ${Math.max(...busy).toFixed(0)} ms`,
      );
      return [
        {
          name: "watch.return",
          value: round(meanwhile / before),
          unit: "ratio of the p99 of a balance, while 10,000 streams come back",
          target: "<= 5",
          baseline: "the same server before",
        },
      ];
    }),
};

/** The latencies in ms of balances, one after another until a promise resolves. */
async function measure({ call }: Channel, until: Promise<unknown>): Promise<number[]> {
  const latencies: number[] = [];
  let isOver = false;
  const over = until.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const sent = performance.now();
    await call(getBalance, { userId: "u" });
    latencies.push(performance.now() - sent);
    await Promise.race([over, sleep(5)]);
  }
  return latencies;
}
