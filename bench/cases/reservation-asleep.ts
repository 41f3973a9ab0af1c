/** Measures what a reservation costs in Temporal: billed actions, and bytes while it sleeps. */
import { setTimeout as sleep } from "node:timers/promises";
import { type WorkflowHandle, WorkflowNotFoundError } from "@temporalio/client";
import { defaultProgramId } from "../../src/platform/words/program-ids.ts";
import {
  reservationLead,
  reservationWorkflowId,
} from "../../src/reservations/contract/reservations.ts";
import { billableActions, type History } from "../../test/support/fixtures/billable-actions.ts";
import type { Version } from "../../test/support/upgrade/versions.ts";
import type { Benchmark } from "../benchmark.ts";
import { reserve, userName } from "../support/calls.ts";
import { round } from "../support/numbers.ts";
import { previousVersion, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

const dayMs = 86_400_000;

/** Longer than any lead, so that the run sleeps. */
const soonMs = reservationLead.mostMs + 5_000;

/**
 * The events of a run that sleeps: its start. In the previous version, its first workflow task and
 * its activity as well.
 */
const eventsAsleep = { present: 1, previous: 5 };

/** The actions of a reservation that has slept, and the bytes of a history asleep. */
export const reservationAsleep: Benchmark = {
  names: ["reservation.actions", "reservation.bytes_asleep"],
  async run(scale) {
    const present = await costOf(undefined);
    const previous = await costOf(await previousVersion());
    scale.note(`actions ${present.actions} and ${previous.actions} in the previous version`);
    scale.note(`bytes asleep ${present.bytes} and ${previous.bytes} in the previous version`);
    return [
      {
        name: "reservation.actions",
        value: present.actions,
        unit: "actions of a reservation that sleeps and is granted",
        target: "<= 2",
        baseline: "",
        counted: true,
      },
      {
        name: "reservation.bytes_asleep",
        value: round(present.bytes / previous.bytes),
        unit: "ratio of the bytes of a history asleep",
        target: "<= 0.55",
        baseline: "the previous version",
        counted: true,
      },
    ];
  },
};

/** What one reservation of a version costs, with ids of the same lengths. */
const costOf = (version: Version | undefined) =>
  withStack({ temporal: true }, async (stack) => {
    const processes = { ...(version && { version }) };
    const { channel } = await stack.startServer(processes);
    await stack.startWorker(processes);
    return withTemporalClient(stack, async ({ workflow }) => {
      const reserved = async (id: string, inMs: number): Promise<WorkflowHandle> => {
        await reserve(channel, { id, userId: userName(0), executeTime: Date.now() + inMs });
        return workflow.getHandle(reservationWorkflowId(defaultProgramId, id));
      };
      const events = eventsAsleep[version ? "previous" : "present"];
      const bytes = await bytesAsleep(await reserved("reservation-later", 30 * dayMs), events);
      const granted = await reserved("reservation-soon", soonMs);
      await bytesAsleep(granted, events);
      await granted.result();
      const history = await granted.fetchHistory();
      const printed: History["events"] = JSON.parse(JSON.stringify(history.events));
      return { actions: billableActions(printed), bytes };
    });
  });

/** Waits until a run sleeps, which the server starts after its answer. Returns its bytes. */
async function bytesAsleep(handle: WorkflowHandle, events: number): Promise<number> {
  for (;;) {
    const { historyLength, historySize } = await describe(handle);
    if (historyLength === events && historySize !== undefined) return historySize;
    await sleep(200);
  }
}

async function describe(handle: WorkflowHandle) {
  try {
    return await handle.describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { historyLength: 0, historySize: undefined };
    throw error;
  }
}
