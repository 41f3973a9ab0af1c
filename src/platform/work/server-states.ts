/** Keeps the state of a server or worker process, and notifies its watchers. */
import type { ServerState, ServerStates } from "../ports/server-states.ts";

/** The order of the states. A process never returns to an earlier one. */
const order: readonly ServerState[] = ["STARTING", "SERVING", "DRAINING"];

interface ChangingServerStates extends ServerStates {
  /** Does nothing when the process is further already: a stop may come during the start. */
  enter(state: ServerState): void;
}

export function createServerStates(): ChangingServerStates {
  let current: ServerState = "STARTING";
  const watchers = new Set<() => void>();
  return {
    get current() {
      return current;
    },

    enter(state) {
      if (order.indexOf(state) <= order.indexOf(current)) return;
      current = state;
      for (const notify of watchers) notify();
    },

    async *watch(signal) {
      let notified = Promise.withResolvers<void>();
      const notify = () => notified.resolve();
      watchers.add(notify);
      signal.addEventListener("abort", notify);
      try {
        for (let sent: ServerState | undefined; ; ) {
          if (sent !== current) {
            sent = current;
            yield current;
          } else if (signal.aborted) {
            return;
          } else {
            await notified.promise;
            notified = Promise.withResolvers();
          }
        }
      } finally {
        watchers.delete(notify);
        signal.removeEventListener("abort", notify);
      }
    },
  };
}
