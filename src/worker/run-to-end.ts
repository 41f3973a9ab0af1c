/** Runs a worker of the SDK until all of its work has ended. */
import type { Worker } from "@temporalio/worker";
import type { Logger } from "../platform/observe/log.ts";

/**
 * Throws what ended the worker too early. After the end the SDK may fail to free its native worker
 * ("Worker still in use"), because a heartbeat still refers to it for a moment. Nothing is lost by
 * that, so it is no failure of the process.
 */
export async function runToEnd(
  worker: Pick<Worker, "run" | "getState">,
  log: Logger,
): Promise<void> {
  try {
    await worker.run();
  } catch (error) {
    if (worker.getState() !== "STOPPED") throw error;
    log.warn({ err: error }, "the worker has ended, but the SDK could not free it");
  }
}
