/** Measures the length of a reservation's history in Temporal. */
import { reservationWorkflowId } from "../../src/contract/reservations.ts";
import type { Benchmark } from "../benchmark.ts";
import { reserve, userName } from "../support/calls.ts";
import { median } from "../support/numbers.ts";
import { allDone } from "../support/reservations.ts";
import { withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

const count = 10;

/** The events of a reservation that was not changed before its grant. */
export const reservationHistory: Benchmark = {
  names: ["reservation.history_events"],
  run: (scale) =>
    withStack({ temporal: true }, async (stack) => {
      const server = await stack.startServer();
      await stack.startWorker();
      const executeTime = Date.now() + 4_000;
      const ids = Array.from({ length: count }, (_, i) => `history-${i}`);
      for (const [i, id] of ids.entries()) {
        await reserve(server.channel, { id, userId: userName(i), executeTime });
      }
      await allDone(stack, ids, 30_000);
      const lengths: number[] = [];
      await withTemporalClient(stack, async ({ workflow }) => {
        for (const id of ids) {
          const handle = workflow.getHandle(reservationWorkflowId("default", id));
          await handle.result();
          const { events } = await handle.fetchHistory();
          const types = (events ?? []).map(
            (event) => Object.keys(event).find((key) => key.endsWith("EventAttributes")) ?? "",
          );
          if (lengths.length === 0) scale.note(types.join(" ").replaceAll("EventAttributes", ""));
          lengths.push(types.length);
        }
      });
      return [
        {
          name: "reservation.history_events",
          value: median(lengths),
          unit: "events a reservation",
          target: "<= 12",
          baseline: "",
          counted: true,
        },
      ];
    }),
};
