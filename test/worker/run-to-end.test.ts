/** Tests which errors of the SDK are failures of a worker. */
import { expect, test, vi } from "vitest";
import { createLogger } from "../../src/platform/observe/log.ts";
import { runToEnd } from "../../src/worker/run-to-end.ts";

const log = createLogger("test", "silent");
const error = new Error("Worker still in use: Expected 1 reference, but got 2");

test("an error before the end of the work is a failure", async () => {
  const worker = { run: () => Promise.reject(error), getState: () => "FAILED" as const };
  await expect(runToEnd(worker, log)).rejects.toBe(error);
});

test("an error after the end of the work is logged", async () => {
  const warn = vi.spyOn(log, "warn");
  const worker = { run: () => Promise.reject(error), getState: () => "STOPPED" as const };
  await runToEnd(worker, log);
  expect(warn).toHaveBeenCalledOnce();
});
