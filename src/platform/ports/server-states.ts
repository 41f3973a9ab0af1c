/** Where a server or worker process is between its start and its end. */

/**
 * `STARTING` until all ports listen, or the worker begins to poll. `DRAINING` from the signal to
 * stop: calls under way and new ones are still served for a while, but clients should go to another
 * server.
 */
export type ServerState = "STARTING" | "SERVING" | "DRAINING";

/** The state of this process, for the endpoints that report it to clients and operators. */
export interface ServerStates {
  readonly current: ServerState;
  /**
   * The present state, then each later one; a slow consumer gets the latest and skips older ones.
   * Ends when `signal` aborts. Nothing runs while the state stays the same.
   */
  watch(signal: AbortSignal): AsyncIterable<ServerState>;
}
