/** Turns of the event loop for work that would stop it if all of it were done at once. */
import { setImmediate } from "node:timers/promises";

/**
 * Returns a function that waits for the next turn which it has given to nobody else, so that much
 * work of one kind stops the loop no longer than one piece of it.
 */
export function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => setImmediate());
    return last;
  };
}
