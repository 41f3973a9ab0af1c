/** Tests how processes are started again, by children that are not there. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { eventually } from "../../test/support/fixtures/waiting.ts";
import { type Observer, startProcess } from "./processes.ts";

interface FakeChild {
  readonly pid: number;
  readonly exited: Promise<string>;
  end(why: string): void;
  killHard(): Promise<void>;
  stop(): Promise<void>;
}

function fakeChild(): FakeChild {
  const { promise: exited, resolve: end } = Promise.withResolvers<string>();
  const endBy = (signal: string) => async () => {
    end(signal);
    await exited;
  };
  return { pid: 2 ** 30, exited, end, killHard: endBy("SIGKILL"), stop: endBy("SIGTERM") };
}

let events: string[] = [];
const observer: Observer = {
  onEnd: (what) => events.push(what),
  onRetry: (what) => events.push(what),
  onLost: ({ message }) => events.push(message.replace(/\d+ s/, "N s")),
};

beforeEach(() => {
  events = [];
});

const quick = { retryMs: 1, giveUpMs: 50 };

/** Starts a process whose children are in a list. `ready` is awaited before each but the first. */
async function started(ready: () => Promise<unknown>, options = {}) {
  const children: FakeChild[] = [];
  const start = async () => {
    if (children.length > 0) await ready();
    const child = fakeChild();
    children.push(child);
    return child;
  };
  const process = await startProcess("it", start, observer, { ...quick, ...options });
  return { process, children };
}

const killed = async ({ process }: Awaited<ReturnType<typeof started>>) =>
  (await process.faults.killed?.()) ?? expect.unreachable();

test("a process that a fault has killed is started again when the fault ends", async () => {
  const one = await started(async () => {});
  const end = await killed(one);
  expect(await one.children[0]?.exited).toBe("SIGKILL");
  expect(one.children).toHaveLength(1);
  await end();
  expect(one.children).toHaveLength(2);
  expect(events).toEqual([]);
});

test("a process that ends by itself is started once, also while a fault kills it", async () => {
  const ready = Promise.withResolvers<void>();
  const one = await started(() => ready.promise);
  one.children[0]?.end("exit code 1");
  await sleep(1);
  const killing = killed(one);
  ready.resolve();
  const end = await killing;
  // The fault has killed the process that was started, not the one that was gone.
  expect(await one.children[1]?.exited).toBe("SIGKILL");
  await end();
  expect(one.children).toHaveLength(3);
  expect(events).toEqual(["it ended by itself: exit code 1"]);
});

test("a process that ends as soon as it is ready is started again", async () => {
  const one = await started(async () => {});
  const end = await killed(one);
  let starts = 0;
  one.children.push = (child) => {
    starts++;
    if (starts === 1) child.end("exit code 2");
    return Array.prototype.push.call(one.children, child);
  };
  await end();
  await eventually(async () => expect(one.children).toHaveLength(3));
  expect(events).toEqual(["it ended by itself: exit code 2"]);
});

test("a process that cannot be started again is tried for a time, and then lost", async () => {
  const one = await started(() => Promise.reject(new Error("did not start\nEADDRINUSE")));
  await (await killed(one))();
  expect(events.slice(0, -1)).not.toEqual([]);
  expect(new Set(events.slice(0, -1))).toEqual(new Set(["it is started once more: did not start"]));
  expect(events.at(-1)).toBe("it was not ready again in N s: did not start\nEADDRINUSE");
});

test("a process that cannot go on where it was is lost when it ends by itself", async () => {
  const { children } = await started(async () => {}, { startsAgain: false });
  children[0]?.end("SIGSEGV");
  await eventually(async () => expect(events).toEqual(["it ended by itself: SIGSEGV"]));
  expect(children).toHaveLength(1);
});

test("the end of a run ends the tries, and a process that is ready too late", async () => {
  const ready = Promise.withResolvers<void>();
  const one = await started(() => ready.promise);
  const end = await killed(one);
  const ending = end();
  await one.process.kill();
  ready.resolve();
  await ending;
  expect(await one.children[1]?.exited).toBe("SIGKILL");
  const other = await started(() => Promise.reject(new Error("away")), { giveUpMs: 3_600_000 });
  const endOther = (await killed(other))();
  await other.process.kill();
  await endOther;
  expect(events.filter((what) => /not ready again|by itself/.test(what))).toEqual([]);
});
