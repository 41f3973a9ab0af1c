/** Tests when a worker sweeps over what is overdue. */
import { expect, test, vi } from "vitest";
import { createLogger } from "../../src/log.ts";
import { sweepOverdue } from "../../src/worker/overdue-sweeps.ts";

const log = createLogger("test", "silent");
const noPause = { meanMs: 1, jitter: 0.4 };

test("at its start, and again after a sweep that has failed, until its process stops", async () => {
  const stopping = new AbortController();
  const warn = vi.spyOn(log, "warn");
  const onOverdue = vi.fn();
  const ends = ["done", new Error("the store is away"), "done", "done"];
  const sweep = vi.fn(async () => {
    const end = ends.shift();
    if (ends.length === 0) stopping.abort();
    if (end instanceof Error) throw end;
  });
  await sweepOverdue({ sweep, onOverdue, log }, stopping.signal, noPause);
  expect(sweep).toHaveBeenCalledTimes(4);
  expect(onOverdue).toHaveBeenCalledExactlyOnceWith(undefined);
  expect(warn).toHaveBeenCalledTimes(1);
});

test("no more when its process stops within a pause", async () => {
  const stopping = new AbortController();
  const sweep = vi.fn(async () => {});
  const pause = { ...noPause, meanMs: 1_000_000 };
  const swept = sweepOverdue({ sweep, onOverdue() {}, log }, stopping.signal, pause);
  await new Promise((resolve) => setImmediate(resolve));
  stopping.abort();
  await swept;
  expect(sweep).toHaveBeenCalledTimes(1);
});
