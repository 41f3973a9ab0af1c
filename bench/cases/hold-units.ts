/** Measures the write units of holds: of a hold, and of captures that end it or leave it open. */
import type { Benchmark, Result } from "../benchmark.ts";
import { capture, grant, hold, userName } from "../support/calls.ts";
import { inParallel } from "../support/load.ts";
import { isNoLease, type Metered, withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";

const count = 20;

/** Holds of accounts that exist. A capture takes a part; one that ends the hold frees the rest. */
export const holdUnits: Benchmark = {
  names: ["hold.write_units", "capture.write_units", "capture.write_units.more_follow"],
  run: () =>
    withMeteredStack(
      async ({ startServer, meter }) => {
        const { channel } = await startServer();
        const userIds = Array.from({ length: count }, (_, i) => userName(i));
        const each = (call: (userId: string) => Promise<void>) =>
          meter(() => inParallel(1, userIds, call), isNoLease);
        await each((userId) => grant(channel, userId));
        const held = await each((userId) => hold(channel, userId));
        const open = await each((userId) => capture(channel, userId, true));
        const ended = await each((userId) => capture(channel, userId, false));
        const result = (name: string, { usage }: Metered, most: number): Result => ({
          name,
          value: round(usage.writes / count),
          unit: "write units a call",
          target: `<= ${most}`,
          baseline: "",
          counted: true,
        });
        return [
          result("hold.write_units", held, 8),
          result("capture.write_units", ended, 10),
          result("capture.write_units.more_follow", open, 10),
        ];
      },
      // Without it, each hold is marked.
      { temporal: true },
    ),
};
