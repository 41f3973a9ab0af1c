/** The log as the deliveries of a process read it: patiently, by the one tail that all share. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { DeliveryLog } from "../ports/deliveries.ts";
import type { EventTail } from "../ports/event-reads.ts";
import type { EventLogReader } from "../ports/log.ts";
import type { NoteReading } from "./log-readings.ts";

/** After this time without a batch the log is asked whether it still ends there. */
const usualQuietMs: Milliseconds = 1_000;

/** The delay after a request that the store has not answered, and while no log has begun. */
const retryMs: Milliseconds = 1_000;

export function createDeliveryLog(
  eventTail: EventTail,
  eventLog: Pick<EventLogReader, "find">,
  note: NoteReading,
  quietMs = usualQuietMs,
): DeliveryLog {
  /** Does something again until it has a result. Undefined when the signal aborts before. */
  async function patiently<T>(attempt: () => Promise<T | undefined>, signal: AbortSignal) {
    while (!signal.aborted) {
      try {
        const result = await attempt();
        note();
        if (result !== undefined) return result;
      } catch (error) {
        note(error);
      }
      await sleep(retryMs, undefined, { signal }).catch(() => {});
    }
    return undefined;
  }

  async function find(number: number, signal: AbortSignal) {
    if (!(await eventTail.waitFor(number, quietMs, signal))) {
      const end = await eventTail.end();
      if (!end || end.number < number) return "end";
    }
    const [batch] = await eventTail.read(number, "deliveries");
    return batch ?? "expired";
  }

  return {
    tail: (signal) => patiently(eventTail.end, signal),
    next: async (number, signal) => (await patiently(() => find(number, signal), signal)) ?? "end",
    oldest: () => eventLog.find(0),
  };
}
