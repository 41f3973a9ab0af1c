/** Tests the state of a server process and its watchers. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { createServerStates } from "../../../src/platform/work/server-states.ts";

const never = new AbortController().signal;

test("the state only goes forward", () => {
  const states = createServerStates();
  expect(states.current).toBe("STARTING");
  states.enter("DRAINING");
  states.enter("SERVING");
  expect(states.current).toBe("DRAINING");
});

test("a watcher gets the present state and each later one", async () => {
  const states = createServerStates();
  const watched = states.watch(never)[Symbol.asyncIterator]();
  const next = async () => (await watched.next()).value;
  expect(await next()).toBe("STARTING");
  const change = next();
  states.enter("SERVING");
  expect(await change).toBe("SERVING");
  states.enter("DRAINING");
  expect(await next()).toBe("DRAINING");
});

test("a slow watcher skips to the latest state", async () => {
  const states = createServerStates();
  const watched = states.watch(never)[Symbol.asyncIterator]();
  await watched.next();
  states.enter("SERVING");
  states.enter("DRAINING");
  expect((await watched.next()).value).toBe("DRAINING");
});

test("a watcher ends when its signal aborts, after the state that it has not had", async () => {
  const states = createServerStates();
  const { signal, ...controller } = abortable();
  const watched = states.watch(signal)[Symbol.asyncIterator]();
  await watched.next();
  states.enter("SERVING");
  controller.abort();
  expect((await watched.next()).value).toBe("SERVING");
  expect(await watched.next()).toEqual({ done: true, value: undefined });
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a waiting watcher ends when its signal aborts", async () => {
  const states = createServerStates();
  const { signal, abort } = abortable();
  const watched = states.watch(signal)[Symbol.asyncIterator]();
  await watched.next();
  const end = watched.next();
  abort();
  expect(await end).toEqual({ done: true, value: undefined });
});

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
