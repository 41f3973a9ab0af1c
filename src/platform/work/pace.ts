/** Paces changes of the store, so that work on many records leaves throughput to calls. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pace } from "../ports/deps.ts";

interface Waiting {
  /** The virtual time at which its changes start: how many its flow was given before. */
  readonly start: number;
  readonly changes: number;
  readonly proceed: () => void;
}

/** How much of the time that a late timer lost is made up for, in ms. */
const catchUpMs = 100;

/**
 * Returns a pace of so many changes a second, evenly, because bursts would delay calls. Flows that
 * wait at the same time get the same number of changes each, whatever they ask for, so none delays
 * another: start-time fair queuing (Goyal, Vin and Cheng, SIGCOMM 1996).
 */
export function createPace(perSecond: number): Pace {
  const waiting: Waiting[] = [];
  /** The virtual time at which the last change of each flow ends. */
  const ends = new Map<string, number>();
  let virtualTime = 0;
  let freeAt = 0;
  let running = false;

  async function run(): Promise<void> {
    running = true;
    freeAt = Math.max(freeAt, performance.now());
    while (waiting.length > 0) {
      const waitMs = freeAt - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      const first = waiting.reduce((a, b) => (b.start < a.start ? b : a));
      waiting.splice(waiting.indexOf(first), 1);
      virtualTime = first.start;
      freeAt =
        Math.max(freeAt, performance.now() - catchUpMs) + (1_000 * first.changes) / perSecond;
      first.proceed();
    }
    ends.clear();
    virtualTime = 0;
    running = false;
  }

  return (flow, changes = 1) => {
    const start = Math.max(virtualTime, ends.get(flow) ?? 0);
    ends.set(flow, start + changes);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push({ start, changes, proceed: resolve });
    if (!running) void run();
    return promise;
  };
}
