/** Measures the write units of a reservation, from its creation to its grant. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark } from "../benchmark.ts";
import { grant, reserve, userName } from "../support/calls.ts";
import { inParallel } from "../support/load.ts";
import { isNoLease, type Metered, withMeteredStack } from "../support/metered.ts";
import { round } from "../support/numbers.ts";
import { allDone } from "../support/reservations.ts";

const count = 40;

/** From the creation to the execute time, and how long the runs are started at most. */
const leadMs = 12_000;
const startMs = 4_000;

/** A reservation on an account that exists: made, started, and granted when it is due. */
export const reservationUnits: Benchmark = {
  names: ["reservation.write_units"],
  run: (scale) =>
    withMeteredStack(
      async (stack) => {
        const { channel } = await stack.startServer();
        await stack.startWorker();
        const userIds = Array.from({ length: count }, (_, i) => userName(i));
        const idOf = (userId: string) => `reserved-${userId}`;
        const meter = (work: () => Promise<unknown>) => stack.meter(work, isNoLease);
        await meter(() => inParallel(1, userIds, (userId) => grant(channel, userId)));
        const executeTime = Date.now() + leadMs;
        // The first reservation of an hour writes the due hour as well, so it is not counted. It is
        // granted after the others.
        const first = { id: "first", userId: userName(0), executeTime: executeTime + 60_000 };
        await meter(() => reserve(channel, first).then(() => sleep(startMs)));
        const created = await meter(async () => {
          await inParallel(2, userIds, (userId) =>
            reserve(channel, { id: idOf(userId), userId, executeTime }),
          );
          await sleep(startMs);
        });
        const granted = await meter(() => allDone(stack, userIds.map(idOf), leadMs + 30_000));
        const each = ({ usage }: Metered) => round(usage.writes / count);
        scale.note(`creation: ${each(created)}, ${JSON.stringify(created.operations)}`);
        scale.note(`execution: ${each(granted)}, ${JSON.stringify(granted.operations)}`);
        return [
          {
            name: "reservation.write_units",
            value: each(created) + each(granted),
            unit: "write units a reservation",
            target: "<= 16",
            baseline: "",
            counted: true,
          },
        ];
      },
      { temporal: true },
    ),
};
