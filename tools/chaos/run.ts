/** A whole run: sixteen clients and a consumer of events under faults, then the checks. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Milliseconds } from "../../src/platform/words/units.ts";
import { latenessOf } from "../../src/reservations/rules/reservation.ts";
import type { EventCopy } from "../../test/support/events/copy.ts";
import { randomFrom } from "../../test/support/models/random.ts";
import { type Calls, createCalls } from "./calls.ts";
import { check } from "./checks/check.ts";
import { grantInBulk } from "./clients/bulk-grants.ts";
import { followEvents, limitBalances } from "./clients/events.ts";
import { react, read, registerTargets, report } from "./clients/feeds.ts";
import { holdPoints } from "./clients/holds.ts";
import { changePoints } from "./clients/points.ts";
import { createPrograms } from "./clients/programs.ts";
import { reserve } from "./clients/reservations.ts";
import { awaitEnds, type Ending } from "./ends.ts";
import { type Fault, injectFaults, planFaults } from "./faults.ts";
import { callEach, compareEvents, readState, settle } from "./final-state.ts";
import type { Options } from "./options.ts";
import { endingOf, type Record, sentBy } from "./record.ts";
import { type Stack, startStack } from "./stack.ts";
import { createSurprises, type Surprises } from "./wrong.ts";

/** How many changes ended how. */
export interface Counts {
  readonly acknowledged: number;
  readonly refused: number;
  readonly unknown: number;
}

export interface Result {
  /** By what was changed: `points`. */
  readonly counts: Readonly<{ [name: string]: Counts }>;
  readonly faults: readonly Fault[];
  /** The events that the consumer has got. */
  readonly events: EventCopy["counts"];
  /** How late each reservation was granted, in ascending order. */
  readonly latenessMs: readonly Milliseconds[];
  /** Everything that is wrong, each in a sentence; `wrongCounts` has what a short run may show. */
  readonly wrong: readonly string[];
}

const minuteMs = 60_000;

/** Calls that have begun, and processes that a fault has killed, have this long at the end. */
const endMs = 180_000;

/**
 * The time limit for the work that is left after the last fault. It takes one or two minutes, and
 * several times as long where other tests keep the machine busy.
 */
const settleMs = 480_000;

/** While events are missing, another one comes within this time on a busy machine. */
const quietMs = 150_000;

/**
 * Runs the clients under faults for some minutes. `stopped` ends it before, without a result.
 * Throws as soon as a process cannot be started again, with the end of its output.
 */
export async function runChaos(
  { minutes, seed }: Options,
  say: (line: string) => void,
  stopped: AbortSignal,
): Promise<Result | undefined> {
  const surprises = createSurprises(say);
  say(`seed ${seed}, ${minutes} minutes: starting the stack`);
  const lost = new AbortController();
  const observer = { onEnd: surprises.add, onRetry: say, onLost: (e: Error) => lost.abort(e) };
  const over = AbortSignal.any([stopped, lost.signal]);
  const isStopped = () => {
    lost.signal.throwIfAborted();
    return stopped.aborted;
  };
  const stack = await startStack(observer, over);
  // The clients have the seeds from this one on.
  const follower = await followEvents(stack.servers, randomFrom(seed - 1), surprises.add);
  try {
    const record = emptyRecord(surprises.all);
    const run = { minutes, seed, surprises };
    const faults = await underFaults(stack, record, run, say, over);
    if (isStopped()) return undefined;
    say("the faults are over: waiting for what is still to be done");
    const [silent] = await Promise.all([
      callEach(stack.listeners, settleMs, over),
      settle(stack.deps, record, settleMs, over, say),
    ]);
    for (const what of silent) surprises.add(what);
    if (isStopped()) return undefined;
    await stack.drainWorkers();
    const { copy } = follower;
    for (const what of await compareEvents(stack, copy, quietMs, over)) surprises.add(what);
    if (isStopped()) return undefined;
    await follower.stop();
    await stack.drain();
    for (const access of stack.denied()) surprises.add(`deploy/policies do not allow ${access}`);
    say("checking");
    const counts = countsOf(record);
    const state = await readState(stack, record);
    const wrong = check(record, state);
    const granted = [...state.reservations.values()].filter(({ grant }) => grant !== undefined);
    const latenessMs = granted.map(latenessOf).sort((a, b) => a - b);
    return { counts, faults, events: copy.counts, latenessMs, wrong };
  } catch (error) {
    // Without the process, much else fails, too.
    lost.signal.throwIfAborted();
    throw error;
  } finally {
    await follower.stop();
    await stack.stop();
  }
}

type Growing = { readonly [K in keyof Record]: Record[K][number][] };

export const emptyRecord = (surprises: string[]): Growing => ({
  points: [],
  holds: [],
  reservations: [],
  bulkGrants: [],
  reactions: [],
  events: [],
  reads: [],
  programs: [],
  surprises,
});

/** Runs clients and faults until the time is over, and returns the faults that there were. */
async function underFaults(
  stack: Stack,
  record: Growing,
  { minutes, seed, surprises }: Options & { readonly surprises: Surprises },
  say: (line: string) => void,
  stopped: AbortSignal,
): Promise<Fault[]> {
  const ended = new AbortController();
  const over = AbortSignal.any([ended.signal, stopped]);
  const callsOf = (client: number) => createCalls(stack.servers, randomFrom(seed + client), over);
  await limitBalances(callsOf(0));
  await registerTargets(callsOf(0));
  const start = performance.now();
  const clients = startClients(stack, record, callsOf, surprises.add);
  const kindsOf = Object.fromEntries(
    Object.entries(stack.faults).map(([part, kinds]) => [part, Object.keys(kinds)]),
  );
  const faults: Fault[] = [];
  const onFault = (fault: Fault) => {
    faults.push(fault);
    const { part, kind, forMs } = fault;
    say(`${timeSince(start)} ${part} ${kind} for ${(forMs / 1_000).toFixed(1)} s`);
  };
  const everyMinute = setInterval(() => {
    say(`${timeSince(start)} ${textOf(sumOf(countsOf(record)))}, ${faults.length} faults`);
  }, minuteMs);
  const plan = planFaults(seed, minutes * minuteMs, kindsOf);
  const injecting = injectFaults(plan, stack.faults, { over, onFault });
  await sleep(minutes * minuteMs, undefined, { signal: stopped }).catch(() => {});
  ended.abort();
  clearInterval(everyMinute);
  await awaitEnds([{ name: "a fault", ended: injecting }, ...clients], endMs);
  return faults;
}

/** Starts sixteen clients, which stop when their calls are over. `onSurprise` gets errors. */
export function startClients(
  { deps }: Pick<Stack, "deps">,
  record: Growing,
  callsOf: (client: number) => Calls,
  onSurprise: (what: string) => void,
): Ending[] {
  const each = (name: string, count: number, run: (calls: Calls, name: string) => Promise<void>) =>
    Array.from({ length: count }, (_, i) => ({ name: `${name}-${i + 1}`, run }));
  const all = [
    ...each("points", 3, (calls, name) => changePoints(calls, name, record.points)),
    ...each("holds", 2, (calls, name) => holdPoints(calls, name, record.holds)),
    ...each("reservations", 3, (calls, name) => reserve(calls, name, record.reservations)),
    ...each("bulk", 2, (calls, name) => grantInBulk(calls, name, record.bulkGrants)),
    ...each("fan", 3, (calls, name) => react(calls, name, record.reactions)),
    ...each("commenter", 1, (calls, name) => report(calls, name, record.events)),
    ...each("reader", 1, (calls) => read(calls, deps, record.reads)),
    ...each("program", 1, (calls, name) => createPrograms(calls, name, record.programs)),
  ];
  const runToEnd = async (calls: Calls, { name, run }: (typeof all)[number]) => {
    while (!calls.over.aborted) {
      try {
        await run(calls, name);
      } catch (error) {
        onSurprise(`the client ${name} got ${error}`);
      }
    }
  };
  return all.map((client, i) => ({
    name: `the client ${client.name}`,
    ended: runToEnd(callsOf(i + 1), client),
  }));
}

/** How many changes ended how so far. */
export const countsOf = (record: Record): Result["counts"] =>
  Object.fromEntries(
    Object.entries(sentBy(record)).map(([name, all]) => {
      const counts = { acknowledged: 0, refused: 0, unknown: 0 };
      for (const each of all) counts[endingOf(each)] += 1;
      return [name, counts];
    }),
  );

/** The problems of a run with too few acknowledged changes for its checks to show anything. */
export function wrongCounts(counts: Result["counts"]): string[] {
  const idle = Object.entries(counts).filter(([, { acknowledged }]) => acknowledged === 0);
  const { acknowledged, unknown } = sumOf(counts);
  return [
    ...idle.map(([name]) => `of ${name} no change was acknowledged`),
    ...(unknown > acknowledged
      ? [`${unknown} changes had no answer, and ${acknowledged} were acknowledged`]
      : []),
  ];
}

/** The counts of all services together. */
export const sumOf = (counts: Result["counts"]): Counts =>
  Object.values(counts).reduce((sum, each) => ({
    acknowledged: sum.acknowledged + each.acknowledged,
    refused: sum.refused + each.refused,
    unknown: sum.unknown + each.unknown,
  }));

export const textOf = ({ acknowledged, refused, unknown }: Counts): string =>
  `${acknowledged} acknowledged, ${refused} refused, ${unknown} without an answer`;

/** The time of a run, as `mm:ss`. */
function timeSince(start: number): string {
  const seconds = Math.floor((performance.now() - start) / 1_000);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(seconds / 60))}:${two(seconds % 60)}`;
}
